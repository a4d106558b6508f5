// Decides how running containers come to what they were allocated: by an update while they run, or by a restart where their
// policy says so. Pure. Upstream: computePodResizeAction in kuberuntime_manager.go.
// Invariant: what shrinks comes before what grows, so that the pod never has more than it was allocated.
import type { Container } from '../../api/k8s/types.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { type ResizeAmounts, resizeAmounts, sameResizeAmounts } from '../../api/pod/resize.ts';
import type { ContainerResize, ResizePod, ResizeView } from './pod-action.ts';

export interface ResizeVerdict {
  readonly restart: boolean;
  readonly resize: ContainerResize;
}

export function judgeResize(
  container: Container,
  current: ObservedContainer,
  view: ResizeView | undefined,
): ResizeVerdict | undefined {
  if (view === undefined || current.state !== 'running') return undefined;
  const actuated = view.actuated(container.name);
  const desired = resizeAmounts(container.resources);
  const before = actuated === undefined ? toldAmounts(current, desired) : resizeAmounts(actuated);
  if (sameResizeAmounts(desired, before)) return undefined;
  return {
    // differs from upstream: a container of which nobody remembers what it was given is never restarted for it.
    restart: actuated !== undefined && restarts(container, desired, before),
    resize: { id: current.id, name: container.name, desired, current: before },
  };
}

/** One action for the whole pod; undefined when nothing is to be done. */
export function resizeAction(verdicts: readonly ResizeVerdict[]): ResizePod | undefined {
  if (verdicts.length === 0) return undefined;
  const updates = verdicts.filter(({ restart }) => !restart).map(({ resize }) => resize);
  return {
    do: 'resize-pod',
    memory: inOrder(updates, 'memory'),
    cpu: inOrder(updates, 'cpu'),
    restarts: verdicts.some(({ restart }) => restart),
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

/** By how much the limit changes, or the request where the limit stays. */
function change(resource: 'cpu' | 'memory', desired: ResizeAmounts, before: ResizeAmounts): bigint {
  const [limit, request] =
    resource === 'cpu'
      ? (['cpuLimitMilli', 'cpuRequestMilli'] as const)
      : (['memoryLimitBytes', 'memoryRequestBytes'] as const);
  return desired[limit] - before[limit] || desired[request] - before[request];
}

/** The runtime knows nothing of memory requests. */
function toldAmounts({ resources = {} }: ObservedContainer, desired: ResizeAmounts): ResizeAmounts {
  return {
    cpuLimitMilli: resources.cpuLimitMilli ?? 0n,
    cpuRequestMilli: resources.cpuRequestMilli ?? 0n,
    memoryLimitBytes: resources.memoryLimitBytes ?? 0n,
    memoryRequestBytes: desired.memoryRequestBytes,
  };
}
