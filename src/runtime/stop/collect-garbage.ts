// Removes the garbage of one pod: dead containers with their logs and links, and empty sandboxes.
// Upstream: removeOldestN, removeSandbox and evictPodLogsDirectories in kuberuntime_gc.go.
// Invariants: only the pod's worker calls this; sandboxes are removed last, so that an interrupted removal is found and resumed.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import type { GarbageScope } from '../../api/ports/garbage-scope.ts';
import { unlinkLogs } from '../container/log-links.ts';
import { podLogDirectoryOf } from '../paths.ts';
import type { ContainerRecords, RuntimeNode, RuntimePolicy } from '../runtime-deps.ts';
import { computeGarbage, findGarbage, type GarbageView, isEmpty } from './compute-garbage.ts';
import {
  removeContainers,
  removeLogs,
  removeSandboxes,
  withoutContainers,
  withUnsharedLogs,
} from './garbage.ts';
import { type StopDeps, stopContainer } from './stop-container.ts';

type ScopeOf = (pod: ObservedPod) => GarbageScope;

interface ViewDeps extends Pick<StopDeps, 'clock'> {
  readonly records: Pick<ContainerRecords, 'refusedRemovals'>;
  readonly policy: Pick<RuntimePolicy, 'garbage' | 'observed'>;
}

interface CollectDeps extends StopDeps, ViewDeps {
  readonly cri: StopDeps['cri'] & Pick<CriRuntime, 'removeContainer' | 'removePodSandbox'>;
  readonly node: Pick<RuntimeNode, 'files' | 'settings'>;
}

/** All pods with garbage, in one pass over the node. */
export function podsWithGarbage(deps: ViewDeps, scopeOf: ScopeOf): readonly ObservedPod[] {
  return findGarbage(deps.policy.observed.all().values(), viewOf(deps, scopeOf));
}

/** Removes the garbage of one pod. True when there was any. */
export async function collectGarbage(
  deps: CollectDeps,
  seen: ObservedPod,
  scopeOf: ScopeOf,
  signal: AbortSignal,
): Promise<boolean> {
  const { node, policy } = deps;
  const garbage = computeGarbage(seen, policy.observed.all().values(), viewOf(deps, scopeOf));
  if (isEmpty(garbage)) return false;
  const stuck = await stopUnknown(deps, garbage.containers, signal);
  const dead = garbage.containers.filter((each) => !stuck.includes(each));
  await unlinkLogs(node, seen, dead);
  await removeLogs(node, withUnsharedLogs(seen, dead));
  const refused = await removeContainers(deps, dead, signal);
  const kept = [...stuck, ...refused];
  if (scopeOf(seen).logDirectory && kept.length === 0 && dead.length === seen.containers.length) {
    const { name, namespace, uid } = seen;
    await node.files.removeTree(podLogDirectoryOf(node.settings.podLogsDir, namespace, name, uid));
  }
  await removeSandboxes(deps, withoutContainers(garbage.sandboxes, kept), signal);
  return true;
}

/** A container in an unknown state may run. Resolves to those that could not be stopped and must stay. */
async function stopUnknown(
  deps: StopDeps,
  containers: readonly ObservedContainer[],
  signal: AbortSignal,
): Promise<readonly ObservedContainer[]> {
  const why = 'Container is in unknown state, try killing it before removal';
  const options = { pod: undefined, graceSeconds: undefined, why, podIp: undefined, signal };
  const stop = async (container: ObservedContainer): Promise<readonly ObservedContainer[]> => {
    try {
      await stopContainer(deps, container, options);
      return [];
    } catch (err) {
      signal.throwIfAborted();
      const fields = { container: container.name, containerID: container.id };
      deps.report.log.error('Failed to stop a container in an unknown state', { ...fields, err });
      return [container];
    }
  };
  return (await Promise.all(containers.filter(({ state }) => state === 'unknown').map(stop))).flat();
}

function viewOf({ clock, policy, records }: ViewDeps, scopeOf: ScopeOf): GarbageView {
  return {
    policy: policy.garbage,
    nowMs: clock.now(),
    scopeOf,
    isRefused: (id) => records.refusedRemovals.isBackingOff(id),
  };
}
