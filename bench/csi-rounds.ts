// One round of a burst of CSI volumes: mounted and unmounted by the volume manager, and by the driver's calls alone.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CsiDriver } from '../integration/support/csi-driver.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../src/api/csi/generated/csi/v1/csi.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { podUid } from '../src/api/pod/pod-ref.ts';
import type { CsiDriverClient } from '../src/api/ports/csi.ts';
import type { VolumeHost } from '../src/api/ports/volume-host.ts';
import type { Volumes } from '../src/assemble/volumes.ts';
import type { FakePodObjects } from '../test/fakes/fake-pod-objects.ts';
import { type Interval, nowMs } from './csi-calls.ts';

/** Pods that are mounted at once, and then unmounted at once. */
export interface Load {
  readonly name: string;
  readonly rounds: number;
  readonly pods: number;
  readonly volumes: number;
  /** Other mounts of the node. */
  readonly mounts?: number;
  /** How much longer the driver takes to stage a volume. */
  readonly stageMs?: number;
}

export interface PodSample {
  readonly handles: readonly string[];
  readonly span: Interval;
}

/** All pods of a load, mounted or unmounted at once. */
interface Burst {
  readonly pods: readonly PodSample[];
  readonly allMs: number;
  /** CPU time of this process per volume. */
  readonly cpuMs: number;
}

export interface Round {
  readonly mount: Burst;
  readonly unmount: Burst;
}

type Handles = readonly (readonly string[])[];

async function burst(handles: Handles, work: (pod: number) => Promise<unknown>): Promise<Burst> {
  const cpu = process.cpuUsage();
  const startMs = nowMs();
  const pods = await Promise.all(
    handles.map(async (own, pod): Promise<PodSample> => {
      await work(pod);
      return { handles: own, span: { fromMs: startMs, toMs: nowMs() } };
    }),
  );
  const { system, user } = process.cpuUsage(cpu);
  return { pods, allMs: nowMs() - startMs, cpuMs: (system + user) / 1_000 / handles.flat().length };
}

function handlesOf({ pods, volumes }: Load, prefix: string): Handles {
  return Array.from({ length: pods }, (_, pod) =>
    Array.from({ length: volumes }, (_, volume) => `${prefix}-${pod}-${volume}`),
  );
}

export interface Node {
  readonly rootDir: string;
  readonly host: VolumeHost;
  readonly objects: FakePodObjects;
  readonly manager: Volumes['manager'];
  readonly driver: CsiDriver;
  /** A connection of its own, for the floor. */
  readonly bare: CsiDriverClient;
}

const noAbort = new AbortController().signal;
const accessModes = ['ReadWriteOnce'];
const capacity = { storage: '1Gi' };

function putClaim(objects: FakePodObjects, name: string, driver: string): void {
  const metadata = { name, namespace: 'default', uid: `claim-${name}`, resourceVersion: '1' };
  const spec = { accessModes, volumeName: name, resources: { requests: capacity } };
  objects.claims.set(name, { metadata, spec, status: { phase: 'Bound', accessModes, capacity } });
  const claimRef = { namespace: 'default', name, uid: metadata.uid };
  const csi = { driver, volumeHandle: name, fsType: 'ext4' };
  objects.volumes.set(name, {
    metadata: { name, resourceVersion: '1' },
    spec: { accessModes, capacity, claimRef, csi },
    status: { phase: 'Bound' },
  });
}

function podOf(uid: string, claims: readonly string[]): Pod {
  const volumes = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const volumeMounts = claims.map((name) => ({ name, mountPath: `/${name}` }));
  const metadata = { name: uid, namespace: 'default', uid };
  return { metadata, spec: { volumes, containers: [{ name: 'c', volumeMounts }] } };
}

export async function withKubelet(
  { driver, manager, objects, rootDir }: Node,
  load: Load,
  at: string,
): Promise<Round> {
  const handles = handlesOf(load, `k-${at}`);
  for (const name of handles.flat()) putClaim(objects, name, driver.name);
  const pods = handles.map((names, pod) => podOf(`pod-${at}-${pod}`, names));
  // The pod's own directory exists before its volumes are mounted.
  for (const pod of pods) await mkdir(join(rootDir, 'pods', podUid(pod)), { recursive: true, mode: 0o750 });
  const of = (pod: number): Pod => pods[pod] ?? {};
  const mount = await burst(handles, (pod) => manager.mount(of(pod), noAbort));
  const unmount = await burst(handles, (pod) => manager.unmount(podUid(of(pod)), noAbort));
  return { mount, unmount };
}

/** The same calls of the driver, on directories that exist already. */
export async function withoutKubelet({ bare, rootDir }: Node, load: Load, at: string): Promise<Round> {
  const handles = handlesOf(load, `f-${at}`);
  const stagingOf = (handle: string): string => join(rootDir, 'floor', handle, 'globalmount');
  const targetOf = (handle: string): string => join(rootDir, 'floor', handle, 'mount');
  for (const handle of handles.flat()) await mkdir(stagingOf(handle), { recursive: true });
  const mount = { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' };
  const volumeCapability = { mount, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
  const common = { publishContext: {}, volumeCapability, secrets: {}, volumeContext: {} };
  const stageAndPublish = async (volumeId: string): Promise<void> => {
    const request = { ...common, volumeId, stagingTargetPath: stagingOf(volumeId) };
    await bare.stage(request, noAbort);
    await bare.publish({ ...request, targetPath: targetOf(volumeId), readonly: false }, noAbort);
  };
  const unpublishAndUnstage = async (volumeId: string): Promise<void> => {
    await bare.unpublish({ volumeId, targetPath: targetOf(volumeId) }, noAbort);
    await bare.unstage({ volumeId, stagingTargetPath: stagingOf(volumeId) }, noAbort);
  };
  const ofPod = (work: (handle: string) => Promise<void>) => (pod: number) =>
    Promise.all((handles[pod] ?? []).map(work));
  return {
    mount: await burst(handles, ofPod(stageAndPublish)),
    unmount: await burst(handles, ofPod(unpublishAndUnstage)),
  };
}
