// The floor: RunPodSandbox, CreateContainer and StartContainer with the same requests that the kubelet makes for the same
// pod, but without a kubelet.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { removeCgroups } from '../integration/rig/cgroups.ts';
import type { Rig } from '../integration/rig/rig.ts';
import { type Mount, NamespaceMode } from '../src/api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../src/api/cri/runtime.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { podUid } from '../src/api/pod/pod-ref.ts';
import { noGrants } from '../src/api/ports/exclusive-resources.ts';

import { generateContainerConfig } from '../src/runtime/container/container-config.ts';
import { generateSandboxConfig, type PodConfigSettings } from '../src/runtime/sandbox/sandbox-config.ts';
import { startSlotCount } from '../src/runtime/start-slots.ts';
import { benchPod, startedAtMs, wallMs } from './pods.ts';

interface FloorPods {
  /** From the first call to the start of each container, in the order of the requests. */
  readonly startMs: readonly number[];
  remove(): Promise<void>;
}

function settings(rig: Rig): PodConfigSettings {
  return {
    podLogsDir: join(rig.workspace.dir, 'floor', 'pod-logs'),
    rootDir: join(rig.workspace.dir, 'floor', 'root'),
    dns: { clusterDns: [], clusterDomain: '' },
    resources: {
      cpuCfsQuota: true,
      cpuCfsQuotaPeriodUs: 100_000,
      memoryCapacityBytes: BigInt(totalmem()),
      hugePageSizes: [],
      cgroupVersion: 1,
      swap: { behavior: 'NoSwap', controller: true, capacityBytes: 0n },
      allocatableBytes: () => 0n,
    },
    seccomp: { profileRoot: join(rig.workspace.dir, 'floor', 'seccomp'), defaultToRuntime: false },
    containerLogsDir: join(rig.workspace.dir, 'floor', 'container-logs'),
    hostIps: () => [],
    allocatable: () => ({}),
    selinux: false,
    gates: { ContainerStopSignals: false, EnvFiles: false, HostnameOverride: false },
    cgroupParent: (pod) => cgroupOf(rig, pod),
  };
}

function cgroupOf(rig: Rig, pod: Pod): string {
  return `${rig.cgroupParent}/kubepods/besteffort/pod${podUid(pod)}`;
}

const users = { mode: NamespaceMode.NODE };

/** containerd 1.6 sometimes fails to start one of many shims at once; a retry succeeds. */
async function withRetry<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (err) {
    if (!/failed to start shim/.test(String(err))) throw err;
    return call();
  }
}

/** The files that a kubelet mounts into every container, written before the measurement: they are not the runtime's work. */
function kubeletMounts(rig: Rig, pod: Pod): readonly CriRequest<Mount>[] {
  const directory = join(settings(rig).rootDir, 'pods', podUid(pod));
  mkdirSync(directory, { recursive: true });
  return [
    ['etc-hosts', '/etc/hosts'],
    ['message', '/dev/termination-log'],
  ].map(([file = '', containerPath = '']) => {
    const hostPath = join(directory, file);
    writeFileSync(hostPath, '');
    return { hostPath, containerPath };
  });
}

interface FloorPod {
  readonly pod: Pod;
  readonly mounts: readonly CriRequest<Mount>[];
}

async function startPod(
  rig: Rig,
  { pod, mounts }: FloorPod,
  imageRef: string,
): Promise<{ readonly sandbox: string; readonly container: string }> {
  const sandboxConfig = generateSandboxConfig({ pod, attempt: 0, userNamespace: users }, settings(rig));
  const { podSandboxId } = await withRetry(() => rig.cri.runPodSandbox({ config: sandboxConfig }));
  const [container] = pod.spec?.containers ?? [];
  if (container === undefined) throw new Error('the pod has no container');
  const config = generateContainerConfig(
    {
      pod,
      container,
      restartCount: 0,
      imageRef,
      imageUser: { uid: undefined, username: '' },
      users,
      options: { env: new Map(), mounts, devices: [] },
      grants: noGrants,
    },
    settings(rig),
  );
  const { containerId } = await rig.cri.createContainer({ podSandboxId, config, sandboxConfig });
  await rig.cri.startContainer({ containerId });
  return { sandbox: podSandboxId, container: containerId };
}

/** Runs `work` for every item, at most `parallel` at a time, in order. */
async function inOrder<T, R>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [i, item] of queue) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return results;
}

/** Concurrent starts of a bounded burst: as many as the kubelet allows. */
export const boundedParallel = startSlotCount(cpus().length);

export async function startFloorPods(
  rig: Rig,
  names: readonly string[],
  parallel: number,
): Promise<FloorPods> {
  const { image } = await rig.cri.imageStatus({ image: { image: rig.images.busybox } });
  const pods = names.map((name) => {
    const pod = benchPod(name, rig.images.busybox);
    const identified = { ...pod, metadata: { ...pod.metadata, uid: `floor-${name}` } };
    return { pod: identified, mounts: kubeletMounts(rig, identified) };
  });
  const startedMs = wallMs();
  const started = await inOrder(pods, parallel, (each) => startPod(rig, each, image?.id ?? ''));
  const startMs = await Promise.all(
    started.map(async ({ container }) => (await startedAtMs(rig, container)) - startedMs),
  );
  const remove = async (): Promise<void> => {
    await inOrder(started, boundedParallel, async ({ sandbox }) => {
      await rig.cri.stopPodSandbox({ podSandboxId: sandbox });
      await rig.cri.removePodSandbox({ podSandboxId: sandbox });
    });
    // The runtime leaves the pod cgroup behind. The kubelet would remove it as an orphan in the middle of its own turn.
    for (const { pod } of pods) removeCgroups(cgroupOf(rig, pod));
  };
  return { startMs, remove };
}
