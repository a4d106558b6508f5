// The state of a node that changes kubelets: what runs, what the API server has, and what is on disk; and the files that other
// kubelets leave.
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { criAnnotations, criLabels } from '../../src/api/cri/labels.ts';
import type { Pod } from '../../src/api/k8s/types.ts';
import {
  decodeAllocations,
  encodeAllocations,
} from '../../src/resources/allocation/allocation-checkpoint.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { mountsBelow } from '../rig/mounts.ts';
import type { Rig } from '../rig/rig.ts';

/** Init containers of the pods that are not sidecars. */
const ended: ReadonlySet<string> = new Set(['fill', 'init']);

/** What the runtime has: container and sandbox IDs with name, state and attempt. A restarted container has another ID. */
export async function runtimeState(rig: Rig): Promise<readonly string[]> {
  const [sandboxes, containers] = await Promise.all([rig.cri.listPodSandbox({}), rig.cri.listContainers({})]);
  return [
    ...sandboxes.items.map(({ id, metadata, state }) => `${metadata?.name} ${id} ${state}`),
    ...containers.containers.map(
      ({ annotations, id, labels, state }) =>
        `${labels[criLabels.podName]}/${labels[criLabels.containerName]} ${id} ${state} ${annotations[criAnnotations.restartCount]}`,
    ),
  ].toSorted();
}

/** Ready and the other conditions with their transitions, and the containers' states. */
export function podFacts(pod: Pod): unknown {
  const { conditions = [], phase, startTime, podIPs, qosClass } = pod.status ?? {};
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return {
    uid: pod.metadata?.uid,
    phase,
    startTime,
    podIPs,
    qosClass,
    conditions: conditions
      .map(({ lastTransitionTime, status, type }) => ({ type, status, lastTransitionTime }))
      .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    containers: [...initContainerStatuses, ...containerStatuses].map(
      ({
        allocatedResources,
        containerID,
        imageID,
        name,
        ready,
        resources,
        restartCount,
        started,
        state,
      }) => ({
        name,
        containerID,
        imageID,
        ready,
        started,
        restartCount,
        state,
        resources,
        allocatedResources,
      }),
    ),
  };
}

function rootFile(kubelet: Kubelet, name: string): unknown {
  return JSON.parse(readFileSync(join(kubelet.rootDir, name), 'utf8'));
}

/** The records of pulled images by file name, without their version, which a later kubelet raises. */
export function pullRecords(kubelet: Kubelet): Readonly<Record<string, unknown>> {
  const dir = join(kubelet.rootDir, 'image_manager', 'pulled');
  const names = existsSync(dir) ? readdirSync(dir).toSorted() : [];
  return Object.fromEntries(
    names.map((name) => {
      const { apiVersion: _, ...record } = rootFile(kubelet, join('image_manager', 'pulled', name)) as Record<
        string,
        unknown
      >;
      return [name, record];
    }),
  );
}

/** Allocated and actuated resources by pod UID and container, without ended init containers, which not every release keeps. */
export function allocations(kubelet: Kubelet): unknown {
  return ['allocated_pods_state', 'actuated_pods_state'].map((name) => {
    const pods = decodeAllocations(readFileSync(join(kubelet.rootDir, name), 'utf8'));
    return [...pods].map(([uid, { containers }]) => [
      uid,
      [...containers].filter(([container]) => !ended.has(container)),
    ]);
  });
}

/** The client and serving certificates in use. */
export function certificates(kubelet: Kubelet): readonly string[] {
  return ['client', 'server'].map((kind) =>
    readlinkSync(join(kubelet.certDir, `kubelet-${kind}-current.pem`)),
  );
}

/** Written by v1.34; this kubelet has no resource claims yet and leaves it for the next one. */
const claimState =
  '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[]}","Checksum":2361995144}';

/** Which state files exist. */
export function stateFiles(kubelet: Kubelet): readonly string[] {
  return readdirSync(kubelet.rootDir).filter((name) => name.endsWith('_state'));
}

/**
 * Rewrites the root directory of a stopped kubelet as one of v1.34 leaves it: allocations without pod-level resources and
 * without init containers that have ended, records and state files in their earlier formats, nothing about probes.
 */
export function leaveAsV134(kubelet: Kubelet): void {
  const path = (name: string): string => join(kubelet.rootDir, name);
  for (const name of ['allocated_pods_state', 'actuated_pods_state']) {
    const pods = [...decodeAllocations(readFileSync(path(name), 'utf8'))].map(([uid, { containers }]) => {
      const kept = [...containers].filter(
        ([container]) => name.startsWith('allocated') || !ended.has(container),
      );
      return [uid, { containers: new Map(kept), podLevel: undefined }] as const;
    });
    writeFileSync(path(name), encodeAllocations(new Map(pods)));
  }
  for (const name of readdirSync(path('image_manager/pulled'))) {
    const file = path(join('image_manager/pulled', name));
    writeFileSync(file, readFileSync(file, 'utf8').replace('/v1beta1"', '/v1alpha1"'));
  }
  writeFileSync(path('cpu_manager_state'), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  writeFileSync(
    path('memory_manager_state'),
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  );
  writeFileSync(path('dra_manager_state'), claimState);
  rmSync(path('probe_results'), { force: true });
}

/** As the previous version of this kubelet: like v1.34, with a file of probe results. */
export function leaveAsPrevious(kubelet: Kubelet): void {
  const path = join(kubelet.rootDir, 'probe_results');
  const results = readFileSync(path, 'utf8');
  leaveAsV134(kubelet);
  writeFileSync(path, results);
}

/** Mount points of volumes, each as often as something is mounted there. */
export function volumeMounts(kubelet: Kubelet): readonly string[] {
  return mountsBelow(join(kubelet.rootDir, 'pods')).toSorted();
}
