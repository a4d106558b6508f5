// Decides how a pod's cgroup and its running containers get their allocated resources: by an update, or by a restart of a
// container if its resize policy requires one.
// Pure. Upstream: computePodResizeAction and computePodLevelResourcesResizeAction in kuberuntime_manager.go.
// Invariant: containers shrink before others grow, so that the pod never has more than its allocation.
import type { Container, Pod, ResourceRequirements } from '../../api/k8s/types.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { type ResizeAmounts, resizeAmounts, sameResizeAmounts, withPodLimits } from '../../api/pod/resize.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { ContainerResize, ResizePod, ResizeView, StartAction } from './pod-action.ts';

export interface ResizeDecision {
  readonly restart: boolean;
  readonly resize: ContainerResize;
}

export function computeResize(
  pod: Pod,
  container: Container,
  current: ObservedContainer,
  view: ResizeView | undefined,
): ResizeDecision | undefined {
  if (view === undefined || current.state !== 'running') return undefined;
  const actuated = view.actuated(container.name);
  const desired = desiredAmounts(pod, container, view);
  const before =
    actuated === undefined ? reportedAmounts(current, desired) : actuatedAmounts(pod, actuated, view);
  if (sameResizeAmounts(desired, before)) return undefined;
  return {
    // differs from upstream: a container without a record of its actuated resources is never restarted for a resize.
    restart: actuated !== undefined && mayRestart(pod, container) && restarts(container, desired, before),
    resize: { id: current.id, name: container.name, desired, current: before },
  };
}

/** One action for the whole pod; undefined without a resize. `starts`: the containers about to start in its cgroup. */
export function resizeAction(
  pod: Pod,
  decisions: readonly ResizeDecision[],
  starts: readonly StartAction[],
  view: ResizeView | undefined,
): ResizePod | undefined {
  if (view === undefined) return undefined;
  const podLevel = podLevelDiffers(pod, view);
  const recreates = decisions.some(({ restart }) => restart) || startsResized(pod, starts, view);
  if (decisions.length === 0 && !podLevel && !recreates) return undefined;
  const updates = decisions.filter(({ restart }) => !restart).map(({ resize }) => resize);
  return {
    do: 'resize-pod',
    memory: inOrder(updates, 'memory'),
    cpu: inOrder(updates, 'cpu'),
    podCgroup: recreates || podLevel,
    podLevel,
  };
}

/** Without a record, the kernel's values decide what is left to do. */
function podLevelDiffers({ spec }: Pod, { podLevel }: ResizeView): boolean {
  if (podLevel === undefined) return false;
  const { actuated } = podLevel;
  if (actuated === undefined) return spec?.resources !== undefined;
  return !sameResizeAmounts(resizeAmounts(spec?.resources), resizeAmounts(actuated ?? undefined));
}

/** Whether a container starts with other resources than it had, or was to have, in this cgroup. */
function startsResized(pod: Pod, starts: readonly StartAction[], view: ResizeView): boolean {
  const all = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return starts.some(({ do: what, name }) => {
    const container = all.find((each) => each.name === name);
    const actuated = view.actuated(name);
    if (what === 'finish-start' || container === undefined || actuated === undefined) return false;
    return !sameResizeAmounts(desiredAmounts(pod, container, view), actuatedAmounts(pod, actuated, view));
  });
}

function desiredAmounts({ spec }: Pod, { resources }: Container, { podLevel }: ResizeView): ResizeAmounts {
  return resizeAmounts(podLevel === undefined ? resources : withPodLimits(resources, spec?.resources));
}

/** Without a record of the pod-level resources, these have not changed since. */
function actuatedAmounts(
  { spec }: Pod,
  actuated: ResourceRequirements,
  { podLevel }: ResizeView,
): ResizeAmounts {
  if (podLevel === undefined) return resizeAmounts(actuated);
  return resizeAmounts(
    withPodLimits(actuated, podLevel.actuated === undefined ? spec?.resources : podLevel.actuated),
  );
}

/** A plain init container runs once; the API server accepts no restart policy for its resize. */
function mayRestart({ spec }: Pod, container: Container): boolean {
  return isSidecar(container) || spec?.initContainers?.some(({ name }) => name === container.name) !== true;
}

function restarts({ resizePolicy = [] }: Container, desired: ResizeAmounts, before: ResizeAmounts): boolean {
  return (['cpu', 'memory'] as const).some((resource) => {
    const policy = resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy;
    return policy === 'RestartContainer' && change(resource, desired, before) !== 0n;
  });
}

function inOrder(
  updates: readonly ContainerResize[],
  resource: 'cpu' | 'memory',
): readonly ContainerResize[] {
  const changed = updates.map((update) => ({ update, by: change(resource, update.desired, update.current) }));
  return [...changed.filter(({ by }) => by < 0n).toReversed(), ...changed.filter(({ by }) => by > 0n)].map(
    ({ update }) => update,
  );
}

/** The change of the limit, or of the request if the limit does not change. */
function change(resource: 'cpu' | 'memory', desired: ResizeAmounts, before: ResizeAmounts): bigint {
  const [limit, request] =
    resource === 'cpu'
      ? (['cpuLimitMilli', 'cpuRequestMilli'] as const)
      : (['memoryLimitBytes', 'memoryRequestBytes'] as const);
  return desired[limit] - before[limit] || desired[request] - before[request];
}

/** The runtime does not report memory requests. */
function reportedAmounts({ resources = {} }: ObservedContainer, desired: ResizeAmounts): ResizeAmounts {
  return {
    cpuLimitMilli: resources.cpuLimitMilli ?? 0n,
    cpuRequestMilli: resources.cpuRequestMilli ?? 0n,
    memoryLimitBytes: resources.memoryLimitBytes ?? 0n,
    memoryRequestBytes: desired.memoryRequestBytes,
  };
}
