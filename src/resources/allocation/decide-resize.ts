// Decides whether a resize can ever succeed on this node. Whether there is room right now is decided by admission. Pure;
// reasons, messages and details are upstream's.
// Upstream: handlePodResourcesResize, disallowResizeForSwappableContainers and canResizePod in pkg/kubelet/allocation.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers, longRunningContainers } from '../../api/pod/find-container.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { equalRequirements, resizeAmounts } from '../../api/pod/resize.ts';
import { podRequests } from '../../api/pod/resources.ts';
import { isStaticPod } from '../../api/ports/pod-source.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

export interface ResizeRules {
  /** The CPU manager pins containers to CPUs, and InPlacePodVerticalScalingExclusiveCPUs is off. */
  readonly cpusArePinned: boolean;
  /** The memory manager pins containers to NUMA nodes, and InPlacePodVerticalScalingExclusiveMemory is off. */
  readonly memoryIsPinned: boolean;
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Whether this container may use swap. Its swap limit depends on its memory request. */
  readonly maySwap: (pod: Pod, container: Container) => boolean;
}

interface Infeasible {
  readonly message: string;
  /** As the metric names it. */
  readonly detail: string;
}

/** `pod` has the requested resources, `allocated` the current ones. Undefined if the resize is feasible. */
export function findInfeasibility(
  pod: Pod,
  allocated: Pod,
  allocatable: ResourceAmounts,
  rules: ResizeRules,
): Infeasible | undefined {
  if (isStaticPod(pod)) {
    return { message: 'In-place resize of static-pods is not supported', detail: 'static_pod' };
  }
  if (resizesSwap(pod, allocated, rules)) {
    const message = 'In-place resize of containers with swap is not supported.';
    return { message, detail: 'swap_limitation' };
  }
  return findPinned(pod, allocated, rules) ?? findExcess(pod, allocatable, rules);
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
  const before = longRunningContainers(allocated);
  const found = managers.find(
    ({ on, of }) =>
      on &&
      longRunningContainers(pod).some(({ name, resources }) => {
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

function findExcess(pod: Pod, allocatable: ResourceAmounts, rules: ResizeRules): Infeasible | undefined {
  const requests = requestsOf(pod, rules);
  const requested = {
    memory: amountOf(requests, 'memory').value(),
    cpu: amountOf(requests, 'cpu').milliValue(),
  };
  const capacity = {
    memory: amountOf(allocatable, 'memory').value(),
    cpu: amountOf(allocatable, 'cpu').milliValue(),
  };
  const short = (['memory', 'cpu'] as const).find((resource) => requested[resource] > capacity[resource]);
  if (short === undefined) return undefined;
  return {
    message: `Node didn't have enough capacity: ${short}, requested: ${requested[short]}, capacity: ${capacity[short]}`,
    detail: 'insufficient_node_allocatable',
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
