// Decides what brings the runtime to the pod's spec. Pure: no clock, no I/O, no log.
// Upstream: kuberuntime_manager.go computePodActions and util.PodSandboxChanged.
// Invariant: the order of the list is the order of execution: the pod or single containers stop first, then the sandbox, then starts.
import { containerHashText } from '../api/container-hash.ts';
import type { Container, Pod } from '../api/k8s.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
  startWasCut,
} from '../api/observed.ts';
import type { ContainerId, SandboxId } from '../api/pod-ref.ts';

export type PodAction =
  /** Every container and sandbox of the pod ends. */
  | { readonly do: 'stop-pod'; readonly why: string }
  | { readonly do: 'create-sandbox'; readonly attempt: number }
  | { readonly do: 'stop-container'; readonly id: ContainerId; readonly name: string; readonly why: string }
  /** `replaces`: a container that never ran; it is removed and its restart count used again. */
  | { readonly do: 'start-container'; readonly name: string; readonly replaces?: ContainerId }
  /** A container that was made but never started, by a kubelet that was killed in between. */
  | { readonly do: 'start-created'; readonly name: string; readonly id: ContainerId };

export interface SandboxChange {
  readonly recreate: boolean;
  readonly attempt: number;
  readonly id: SandboxId | undefined;
  readonly why: string;
}

export function computePodActions(pod: Pod, seen: ObservedPod | undefined): readonly PodAction[] {
  const sandbox = computeSandboxChange(pod, seen);
  return sandbox.recreate ? actionsForNewSandbox(pod, seen, sandbox) : actionsInSandbox(pod, seen);
}

/** Whether the pod needs another sandbox, and which attempt that would be. */
export function computeSandboxChange(pod: Pod, seen: ObservedPod | undefined): SandboxChange {
  const latest = seen?.sandboxes[0];
  if (latest === undefined) return { recreate: true, attempt: 0, id: undefined, why: 'no sandbox yet' };
  const again = (why: string): SandboxChange => ({
    recreate: true,
    attempt: latest.attempt + 1,
    id: latest.id,
    why,
  });
  const ready = seen?.sandboxes.filter((each) => each.ready).length ?? 0;
  if (ready > 1) return again('more than one sandbox is ready');
  if (!latest.ready) return again('the sandbox is not ready');
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (latest.hostNetwork !== hostNetwork) return again('the network namespace changed');
  if (!hostNetwork && latest.ips.length === 0) return again('the sandbox has no address');
  return { recreate: false, attempt: latest.attempt, id: latest.id, why: '' };
}

function actionsForNewSandbox(
  pod: Pod,
  seen: ObservedPod | undefined,
  sandbox: SandboxChange,
): readonly PodAction[] {
  const containers = pod.spec?.containers ?? [];
  const stop: readonly PodAction[] =
    seen === undefined ? [] : [{ do: 'stop-pod', why: `Pod sandbox changed: ${sandbox.why}` }];
  // A container that was only created, or whose start was cut off, has not run.
  const ranBefore = seen?.containers.some((each) => !neverRan(each)) ?? false;
  // A pod that must not run again only has its rest cleared away, unless nothing of it ever came to be.
  if (pod.spec?.restartPolicy === 'Never' && sandbox.attempt > 0 && ranBefore) return stop;
  const wanted = containers.filter((container) => !(runsOnce(pod) && succeeded(container, seen)));
  if (wanted.length === 0 && ranBefore) return stop;
  return [
    ...stop,
    { do: 'create-sandbox', attempt: sandbox.attempt },
    ...wanted.map((container) => startNew(container, latestContainer(seen, container.name))),
  ];
}

function actionsInSandbox(pod: Pod, seen: ObservedPod | undefined): readonly PodAction[] {
  const stops: PodAction[] = [];
  const starts: PodAction[] = [];
  let kept = 0;
  for (const container of pod.spec?.containers ?? []) {
    const current = latestContainer(seen, container.name);
    if (current?.state === 'running') {
      if (containerChanged(container, current)) {
        const why = `Container ${container.name} definition changed, will be restarted`;
        stops.push({ do: 'stop-container', id: current.id, name: container.name, why });
        starts.push({ do: 'start-container', name: container.name });
      } else {
        kept += 1;
      }
      continue;
    }
    if (!shouldStart(pod, current)) continue;
    if (current?.state === 'unknown') {
      const why = 'Container is in "unknown" state, try killing it before restart';
      stops.push({ do: 'stop-container', id: current.id, name: container.name, why });
    }
    starts.push(startAction(container, current, seen));
  }
  if (kept === 0 && starts.length === 0) {
    return [{ do: 'stop-pod', why: 'all containers have ended and none is to be started again' }];
  }
  return [...stops, ...starts];
}

/**
 * Whether a container that does not run is to be started.
 * Unknown and never-started ones always are; ended ones by the pod's restart policy.
 */
export function shouldStart(pod: Pod, current: ObservedContainer | undefined): boolean {
  if (pod.metadata?.deletionTimestamp !== undefined) return false;
  if (current === undefined) return true;
  if (current.state === 'unknown' || current.state === 'created') return true;
  // differs from upstream: a start that was cut off is made again whatever the policy, since nothing has run yet.
  if (startWasCut(current)) return true;
  if (pod.spec?.restartPolicy === 'Never') return false;
  return !(pod.spec?.restartPolicy === 'OnFailure' && current.exitCode === 0);
}

// differs from upstream: a container that was created in the current sandbox but not started is started, not made a second
// time with a higher restart count. A kubelet killed between the two calls then leaves no trace.
function startAction(
  container: Container,
  current: ObservedContainer | undefined,
  seen: ObservedPod | undefined,
): PodAction {
  const usable =
    current?.state === 'created' &&
    current.sandboxId === seen?.sandboxes[0]?.id &&
    !containerChanged(container, current);
  return usable
    ? { do: 'start-created', name: container.name, id: current.id }
    : startNew(container, current);
}

function startNew(container: Container, current: ObservedContainer | undefined): PodAction {
  const { name } = container;
  return current !== undefined && neverRan(current)
    ? { do: 'start-container', name, replaces: current.id }
    : { do: 'start-container', name };
}

function containerChanged(container: Container, current: ObservedContainer): boolean {
  return current.hash !== containerHashText(container);
}

function runsOnce(pod: Pod): boolean {
  return pod.spec?.restartPolicy === 'OnFailure';
}

function succeeded(container: Container, seen: ObservedPod | undefined): boolean {
  const current = latestContainer(seen, container.name);
  return current?.state === 'exited' && current.exitCode === 0;
}

/** Whether every container has ended for good: nothing will be started again. */
export function hasEndedForGood(pod: Pod, seen: ObservedPod | undefined): boolean {
  return (pod.spec?.containers ?? []).every((container) => {
    const current = latestContainer(seen, container.name);
    return current?.state === 'exited' && !shouldStart(pod, current);
  });
}
