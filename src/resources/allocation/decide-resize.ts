// Decides whether a resize can ever succeed on this node. Whether there is room right now is decided by admission. Pure;
// reasons, messages and details are upstream's.
// Upstream: the resize admit handler in pkg/kubelet/allocation/handlers.go.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { equalRequirements, resizeAmounts } from '../../api/pod/resize.ts';
import { podRequests } from '../../api/pod/resources.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

export interface ResizeRules {
  /** The CPU manager pins containers to CPUs. */
  readonly cpusArePinned: boolean;
  /** The memory manager pins containers to NUMA nodes. */
  readonly memoryIsPinned: boolean;
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** The gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevelResizes: boolean;
  /** Whether this container may use swap. Its swap limit depends on its memory request. */
  readonly maySwap: (pod: Pod, container: Container) => boolean;
}

interface Infeasible {
  readonly message: string;
  /** As the metric names it. */
  readonly detail: string;
}

/** `pod` has the requested resources, `allocated` the current ones. Undefined if the resize is feasible. */
export function findInfeasibility(pod: Pod, allocated: Pod, rules: ResizeRules): Infeasible | undefined {
  if (resizesSwap(pod, allocated, rules)) {
    const message = 'In-place resize of containers with swap is not supported.';
    return { message, detail: 'swap_limitation' };
  }
  return findPinned(pod, allocated, rules);
}

function resizesSwap(pod: Pod, allocated: Pod, { maySwap }: ResizeRules): boolean {
  const before = initAndRegularContainers(allocated);
  return initAndRegularContainers(pod).some((container) => {
    const old = before.find(({ name }) => name === container.name);
    if (old === undefined || restartsForMemory(old)) return false;
    const differs =
      resizeAmounts(old.resources).memoryRequestBytes !==
      resizeAmounts(container.resources).memoryRequestBytes;
    return differs && (maySwap(pod, container) || maySwap(allocated, old));
  });
}

function restartsForMemory({ resizePolicy = [] }: Container): boolean {
  return (
    resizePolicy.find(({ resourceName }) => resourceName === 'memory')?.restartPolicy === 'RestartContainer'
  );
}

/** Containers with exclusive CPUs or pinned memory cannot be resized while they run. */
function findPinned(pod: Pod, allocated: Pod, rules: ResizeRules): Infeasible | undefined {
  if (podQosClass(pod) !== 'Guaranteed') return undefined;
  const managers = [
    { on: rules.cpusArePinned, of: 'cpuRequestMilli', name: 'CPU', policy: 'static', key: 'cpu' },
    { on: rules.memoryIsPinned, of: 'memoryRequestBytes', name: 'Memory', policy: 'Static', key: 'memory' },
  ] as const;
  const before = initAndRegularContainers(allocated);
  const found = managers.find(
    ({ on, of }) =>
      on &&
      initAndRegularContainers(pod).some(({ name, resources }) => {
        const old = before.find((each) => each.name === name);
        return resizeAmounts(resources)[of] !== resizeAmounts(old?.resources)[of];
      }),
  );
  if (found === undefined) return undefined;
  return {
    message: `Resize is infeasible for Guaranteed Pods alongside ${found.name} Manager policy "${found.policy}"`,
    detail: `guaranteed_pod_${found.key}_manager_static_policy`,
  };
}

/** Whether any request grows. Resizes that only shrink are granted first. */
export function increasesRequests(
  pod: Pod,
  allocated: Pod,
  rules: Pick<ResizeRules, 'podLevelResources'>,
): boolean {
  const [before, after] = [requestsOf(allocated, rules), requestsOf(pod, rules)] as const;
  return ['cpu', 'memory'].some((name) => amountOf(after, name).cmp(amountOf(before, name)) > 0);
}

export function isResized(pod: Pod, allocated: Pod): boolean {
  const before = initAndRegularContainers(allocated);
  if (!equalRequirements(pod.spec?.resources, allocated.spec?.resources)) return true;
  return initAndRegularContainers(pod).some(({ name, resources }) => {
    const old = before.find((each) => each.name === name);
    return !equalRequirements(resources, old?.resources);
  });
}

function requestsOf(
  pod: Pod,
  { podLevelResources }: Pick<ResizeRules, 'podLevelResources'>,
): ResourceAmounts {
  return podRequests(pod, { skipPodLevelResources: !podLevelResources });
}
