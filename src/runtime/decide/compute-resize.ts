// Decides how running containers get their allocated resources: by an update, or by a restart if their resize policy requires one.
// Pure. Upstream: computePodResizeAction in kuberuntime_manager.go.
// Invariant: containers shrink before others grow, so that the pod never has more than its allocation.
import type { Container } from '../../api/k8s/types.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { type ResizeAmounts, resizeAmounts, sameResizeAmounts } from '../../api/pod/resize.ts';
import type { ContainerResize, ResizePod, ResizeView } from './pod-action.ts';

export interface ResizeDecision {
  readonly restart: boolean;
  readonly resize: ContainerResize;
}

export function computeResize(
  container: Container,
  current: ObservedContainer,
  view: ResizeView | undefined,
): ResizeDecision | undefined {
  if (view === undefined || current.state !== 'running') return undefined;
  const actuated = view.actuated(container.name);
  const desired = resizeAmounts(container.resources);
  const before = actuated === undefined ? reportedAmounts(current, desired) : resizeAmounts(actuated);
  if (sameResizeAmounts(desired, before)) return undefined;
  return {
    // differs from upstream: a container without a record of its actuated resources is never restarted for a resize.
    restart: actuated !== undefined && restarts(container, desired, before),
    resize: { id: current.id, name: container.name, desired, current: before },
  };
}

/** One action for the whole pod; undefined without a resize. */
export function resizeAction(decisions: readonly ResizeDecision[]): ResizePod | undefined {
  if (decisions.length === 0) return undefined;
  const updates = decisions.filter(({ restart }) => !restart).map(({ resize }) => resize);
  return {
    do: 'resize-pod',
    memory: inOrder(updates, 'memory'),
    cpu: inOrder(updates, 'cpu'),
    restarts: decisions.some(({ restart }) => restart),
  };
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
