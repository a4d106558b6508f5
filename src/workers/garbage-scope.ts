// Decides how much of a pod's garbage may be removed. Pure. Upstream: ShouldPodContentBeRemoved and ShouldPodRuntimeBeRemoved in
// pkg/kubelet/pod_workers.go.
// Invariant: the only record of a container's exit is never removed. In a pod that may run again this is the newest container of
// each name; in a finished pod it is a container whose exit the API server has not stored. A static pod has no such store.
import type { PodStatus } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { latestContainer, neverRan, type ObservedContainer, type ObservedPod } from '../api/pod/observed.ts';
import { parseContainerId } from '../api/pod/pod-ref.ts';
import type { CollectionCause, GarbageScope } from '../api/ports/garbage-scope.ts';
import type { WorkerState } from './transition.ts';

interface ScopeInput {
  readonly cause: CollectionCause;
  readonly sourcesReady: boolean;
  /** Undefined: no worker is responsible for the pod. */
  readonly worker: WorkerState | undefined;
  readonly desired: unknown;
  /** The pod's status as the API server has it; undefined for a static pod. */
  readonly stored: PodStatus | undefined;
  readonly seen: ObservedPod;
}

export function computeGarbageScope(input: ScopeInput): GarbageScope {
  const { cause, desired, seen, sourcesReady, stored, worker } = input;
  const isNewest = ({ id, name }: ObservedContainer): boolean => latestContainer(seen, name)?.id === id;
  // Until its volumes are released, the pod is not finished: its grace period may not have passed.
  const isFinished = sourcesReady && worker?.state === 'finished' && !worker.removal && desired !== undefined;
  // After a sync the logs of a finished pod stay a while, so that they can be read.
  if (cause === 'sync' || !isFinished) return { all: false, logDirectory: false, isNeeded: isNewest };
  // The kubelet may have restarted since the eviction.
  const isEvicted = worker.kill?.evicted === true || isStoredEvicted(stored);
  return {
    all: isEvicted || cause === 'pressure',
    logDirectory: isEvicted,
    isNeeded: (container) => isNewest(container) && !isExitStored(stored, container),
  };
}

function isStoredEvicted(stored: PodStatus | undefined): boolean {
  return stored?.phase === 'Failed' && stored.reason === 'Evicted';
}

/** Whether the API server has the exit of this container, so that its status no longer depends on the runtime. */
function isExitStored(stored: PodStatus | undefined, container: ObservedContainer): boolean {
  if (!isTerminalPhase(stored?.phase)) return false;
  if (neverRan(container)) return true;
  const reported = [
    ...(stored?.containerStatuses ?? []),
    ...(stored?.initContainerStatuses ?? []),
    ...(stored?.ephemeralContainerStatuses ?? []),
  ].find(({ name }) => name === container.name);
  return (
    reported?.state?.terminated !== undefined &&
    parseContainerId(reported.containerID ?? '')?.id === container.id
  );
}
