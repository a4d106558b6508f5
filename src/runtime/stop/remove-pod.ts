// Releases what a stopped pod holds on the node, and removes the pod from the runtime and the disk.
// Upstream: SyncTerminatedPod and the pod clean-up in pkg/kubelet, kuberuntime_gc.go.
// Invariant: sandboxes are removed last. While a sandbox exists, a kubelet that was killed in the middle finds the pod again
// and resumes the removal.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { unlinkLogs } from '../container/log-links.ts';
import { isUid, podDirectory, podLogDirectoryOf, podOfLogDirectory, podsDirectory } from '../paths.ts';
import type { ContainerRecords, PodInputs, RuntimeNode } from '../runtime-deps.ts';
import { removeContainers, removeSandboxes, withoutContainers } from './garbage.ts';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

interface ReleaseDeps {
  readonly node: Pick<RuntimeNode, 'cgroups'>;
  readonly inputs: Pick<PodInputs, 'volumes'>;
  readonly records: Pick<ContainerRecords, 'crashBackoff' | 'unfinishedHooks'>;
}

interface RemoveDeps extends ReleaseDeps {
  readonly cri: Pick<CriRuntime, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly node: Pick<RuntimeNode, 'cgroups' | 'files' | 'settings'>;
  readonly inputs: Pick<PodInputs, 'images' | 'userNamespaces' | 'volumes'>;
  readonly records: Pick<ContainerRecords, 'crashBackoff' | 'refusedRemovals' | 'unfinishedHooks'>;
}

/** Limit on the names listed in one pass; the rest is found once these are removed. */
const mostLeftovers = 100_000;

/**
 * Releases a stopped pod's volumes, hook records and cgroup. Its containers stay, so that their status can be read. The pod's
 * crash back-off is reset: if it starts again, it does not wait for earlier crashes.
 */
export async function releasePod(
  { inputs, node, records }: ReleaseDeps,
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  records.crashBackoff.forget(uid);
  await inputs.volumes.unmount(uid, signal);
  await records.unfinishedHooks.forgetPod(uid);
  // The pod's resources count as allocated until its cgroup is removed.
  await node.cgroups?.removePod(uid);
}

/**
 * Removes everything of a stopped pod that no source wants: containers, directories, logs, cgroup, then sandboxes.
 * False: the runtime refuses to remove an exited container and keeps its sandbox; everything else is removed.
 */
export async function removePod(
  deps: RemoveDeps,
  pod: PodIdentity,
  seen: ObservedPod | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { inputs, node } = deps;
  const { files, settings } = node;
  // Volumes are unmounted before the pod's directory is removed: their content does not belong to the pod.
  await releasePod(deps, pod.uid, signal);
  await unlinkLogs(node, pod, seen?.containers ?? []);
  const kept = await removeContainers(deps, seen?.containers ?? [], signal);
  await files.removeTree(podDirectory(settings.rootDir, pod.uid));
  if (pod.name !== '') {
    await files.removeTree(podLogDirectoryOf(settings.podLogsDir, pod.namespace, pod.name, pod.uid));
  }
  await removeSandboxes(deps, withoutContainers(seen?.sandboxes ?? [], kept), signal);
  inputs.images.forget(pod.uid);
  inputs.userNamespaces.release(pod.uid);
  return kept.length === 0;
}

export interface PodOnNode extends PodIdentity {
  /** Whether it was found by the pod's own directory, which holds its volumes. */
  readonly isPodDirectory: boolean;
}

/** All pods, desired or not, that have a directory, a log directory, a cgroup or a hook record on this node. */
export async function listPodsOnNode({
  node: { cgroups, files, settings },
  records: { unfinishedHooks },
}: Pick<RemoveDeps, 'node' | 'records'>): Promise<readonly PodOnNode[]> {
  const [directories, groups, logs] = await Promise.all([
    files.listNames(podsDirectory(settings.rootDir), mostLeftovers),
    cgroups?.podsWithCgroups() ?? [],
    files.listNames(settings.podLogsDir, mostLeftovers),
  ]);
  const nameless = (uids: readonly string[], isPodDirectory: boolean): readonly PodOnNode[] =>
    uids.filter(isUid).map((uid) => ({ uid: asPodUid(uid), namespace: '', name: '', isPodDirectory }));
  return [
    ...nameless(directories, true),
    ...nameless([...groups, ...unfinishedHooks.pods()], false),
    ...logs
      .flatMap((directory) => podOfLogDirectory(directory) ?? [])
      .map((pod) => ({ ...pod, isPodDirectory: false })),
  ];
}
