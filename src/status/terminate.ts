// Computes the final status of a terminated pod: a container whose exit was never observed counts as failed, and a pod with
// an API object gets a terminal phase. Pure. Upstream: TerminatePod in pkg/kubelet/status/status_manager.go.
import type { ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import { lostState } from './container-state.ts';

export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const init = status.initContainerStatuses ?? [];
  const attempted = attemptedCount(init);
  return {
    ...status,
    // A static pod has no API object that needs a terminal phase.
    ...(isStaticPod(pod) || isTerminalPhase(status.phase) ? {} : { phase: 'Failed' }),
    ...(status.initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: init.map((each, index) => (index < attempted ? ended(each) : each)) }),
    ...(status.containerStatuses === undefined || !hasInitialized(pod, status)
      ? {}
      : { containerStatuses: status.containerStatuses.map(ended) }),
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated !== undefined) return status;
  return { ...status, state: { terminated: lostState('terminated') }, ready: false, started: false };
}

/**
 * Whether regular containers may have run. If not, they stay waiting. The API's status decides whether the init containers had
 * completed: they may have exited since, because the pod was terminated.
 */
function hasInitialized(pod: Pod, status: PodStatus): boolean {
  const specs = pod.spec?.initContainers ?? [];
  if (specs.length === 0) return true;
  if ((status.containerStatuses ?? []).some(everStarted)) return true;
  // It is this status already.
  if (isTerminalPhase(pod.status?.phase)) return false;
  const last = pod.status?.initContainerStatuses?.at(-1);
  const spec = specs.find((container) => container.name === last?.name);
  if (last === undefined || spec === undefined) return false;
  if (isSidecar(spec)) return last.state?.running !== undefined && last.started === true;
  return last.lastState?.terminated?.exitCode === 0 || last.state?.terminated?.exitCode === 0;
}

function everStarted(status: ContainerStatus): boolean {
  return status.state?.waiting === undefined || status.lastState?.terminated !== undefined;
}

/** The number of init containers up to the last that was attempted; the first always counts. */
function attemptedCount(statuses: readonly ContainerStatus[]): number {
  return Math.max(statuses.findLastIndex(everStarted) + 1, Math.min(statuses.length, 1));
}
