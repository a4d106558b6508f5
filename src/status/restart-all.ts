// How the status of a pod describes a restart of all its containers. Pure.
// Upstream: ShouldAllContainersRestart and AllContainersRestartCleanedUp in pkg/kubelet/container/helpers.go, and
// convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go.
import type { ContainerStateTerminated, ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { initAndRegularContainers } from '../api/pod/find-container.ts';
import { latestContainer, type ObservedPod } from '../api/pod/observed.ts';
import { mayRestartAll, restartsAllAfter } from '../api/pod/restart-policy.ts';
import { noTime } from './api-fields.ts';
import { findContainerStatus } from './find-container-status.ts';
import type { StatusGates } from './status-gates.ts';

export const restartingCondition = 'AllContainersRestarting';
const reason = 'RestartingAllContainers';
const message = 'The container is removed because RestartAllContainers in place';
const killedExitCode = 137;

export function isRestartEnabled(pod: Pod, gates: StatusGates): boolean {
  return gates.RestartAllContainersOnContainerExits && mayRestartAll(pod);
}

/**
 * Whether an exit restarts all containers: the condition was reported, or the runtime or the last status has such an exit, or all
 * are removed and none was started again.
 */
export function isRestartingAll(pod: Pod, observed: ObservedPod | undefined, old: PodStatus): boolean {
  const reported = old.conditions?.find(({ type }) => type === restartingCondition);
  if (reported?.status === 'True') return true;
  const statuses = [...(old.initContainerStatuses ?? []), ...(old.containerStatuses ?? [])];
  const isShown = statuses.some(({ state }) => state?.waiting?.reason === reason);
  if (isShown && isRemovedForRestart(pod, observed)) return true;
  if (hasTrigger(pod, observed)) return true;
  return initAndRegularContainers(pod).some((spec) => {
    const exitCode = findContainerStatus(statuses, spec.name)?.state?.terminated?.exitCode;
    const isMissing = latestContainer(observed, spec.name) === undefined;
    return isMissing && exitCode !== undefined && restartsAllAfter(spec, exitCode);
  });
}

/** Whether the runtime has a container whose exit restarts all: it is removed last, so the restart is in progress until then. */
export function hasTrigger(pod: Pod, observed: ObservedPod | undefined): boolean {
  return initAndRegularContainers(pod).some((spec) => {
    const current = latestContainer(observed, spec.name);
    return current?.state === 'exited' && restartsAllAfter(spec, current.exitCode);
  });
}

/** Whether the runtime has no init or regular container of the pod any more. */
function isRemovedForRestart(pod: Pod, observed: ObservedPod | undefined): boolean {
  return initAndRegularContainers(pod).every(({ name }) => latestContainer(observed, name) === undefined);
}

/** Whether this termination was a restart of all containers, after which every container starts again. */
export function wasRestart(ended: Pick<ContainerStateTerminated, 'reason'>): boolean {
  return ended.reason === reason;
}

/** A container that was removed in order to be started again; `fresh` is the status of one that does not exist. */
export function removedForRestart(fresh: ContainerStatus, old: ContainerStatus): ContainerStatus {
  const isReported = old.state?.waiting?.reason === reason;
  const base = old.state?.terminated === undefined && !isReported ? fresh : old;
  const terminated = {
    exitCode: killedExitCode,
    reason,
    message,
    startedAt: noTime,
    finishedAt: noTime,
  };
  return {
    ...base,
    state: { waiting: { reason, message } },
    lastState: { terminated },
    restartCount: old.restartCount + (isReported ? 0 : 1),
  };
}

/** Whether a missing container was removed for a restart, as seen from its last status. */
export function isRemoved(old: ContainerStatus | undefined): old is ContainerStatus {
  if (old === undefined) return false;
  return old.state?.waiting === undefined || old.state.waiting.reason === reason;
}

/** A removed container leaves its last termination and its restart count in the last status only. */
export function afterRestart(status: ContainerStatus, old: ContainerStatus | undefined): ContainerStatus {
  if (old === undefined) return status;
  const replaced = old.containerID !== status.containerID ? old.state?.terminated : undefined;
  const terminated = replaced ?? old.lastState?.terminated;
  const isNew = status.state?.running !== undefined && old.state?.terminated !== undefined;
  const counted = isNew && old.restartCount >= status.restartCount ? old.restartCount + 1 : old.restartCount;
  return {
    ...status,
    restartCount: Math.max(status.restartCount, counted),
    ...(terminated === undefined ? {} : { lastState: { terminated } }),
  };
}
