// The amounts that an in-place resize can change: requests and limits of CPU and memory. Pure.
// Upstream: containerResourcesFromRequirements in kuberuntime_manager.go and IsResizableContainer in pkg/kubelet/allocation.
import type { ResourceList, ResourceRequirements } from '../k8s/types.ts';
import { Quantity } from '../quantity/quantity.ts';
import { equalAmounts, parseAmounts } from '../quantity/resource-amounts.ts';

/** 0: unset. */
export interface ResizeAmounts {
  readonly cpuRequestMilli: bigint;
  readonly cpuLimitMilli: bigint;
  readonly memoryRequestBytes: bigint;
  readonly memoryLimitBytes: bigint;
}

export function resizeAmounts(resources: ResourceRequirements | undefined): ResizeAmounts {
  const { limits, requests } = resources ?? {};
  return {
    cpuRequestMilli: read(requests, 'cpu').milliValue(),
    cpuLimitMilli: read(limits, 'cpu').milliValue(),
    memoryRequestBytes: read(requests, 'memory').value(),
    memoryLimitBytes: read(limits, 'memory').value(),
  };
}

export function sameResizeAmounts(a: ResizeAmounts, b: ResizeAmounts): boolean {
  return (
    a.cpuRequestMilli === b.cpuRequestMilli &&
    a.cpuLimitMilli === b.cpuLimitMilli &&
    a.memoryRequestBytes === b.memoryRequestBytes &&
    a.memoryLimitBytes === b.memoryLimitBytes
  );
}

/**
 * A container's requirements as its cgroup gets them: the pod-level CPU and memory limits apply where the container has none.
 * Upstream: GetLimits in pkg/kubelet/util.
 */
export function withPodLimits(
  resources: ResourceRequirements | undefined,
  podLevel: ResourceRequirements | null | undefined,
): ResourceRequirements {
  const own = resources ?? {};
  const inherited = (['cpu', 'memory'] as const).filter(
    (name) => !read(podLevel?.limits, name).isZero() && read(own.limits, name).isZero(),
  );
  if (inherited.length === 0) return own;
  const limits = inherited.map((name): [string, string] => [name, podLevel?.limits?.[name] ?? '0']);
  return { ...own, limits: { ...own.limits, ...Object.fromEntries(limits) } };
}

/** The requirements with these amounts; other resources stay unchanged. */
export function withResizeAmounts(
  resources: ResourceRequirements | undefined,
  amounts: ResizeAmounts,
): ResourceRequirements {
  const limits = replace(resources?.limits, amounts.cpuLimitMilli, amounts.memoryLimitBytes);
  const requests = replace(resources?.requests, amounts.cpuRequestMilli, amounts.memoryRequestBytes);
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(requests === undefined ? {} : { requests }),
    ...(resources?.claims === undefined ? {} : { claims: resources.claims }),
  };
}

/** Compares by value; an absent list equals an empty one. */
export function equalRequirements(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  if (a === b) return true;
  return (
    equalAmounts(parseAmounts(a?.limits), parseAmounts(b?.limits)) &&
    equalAmounts(parseAmounts(a?.requests), parseAmounts(b?.requests)) &&
    JSON.stringify(a?.claims ?? []) === JSON.stringify(b?.claims ?? [])
  );
}

function read(list: ResourceList | undefined, name: string): Quantity {
  const text = list?.[name];
  return text === undefined ? Quantity.zero : Quantity.fromJson(text);
}

function replace(
  list: ResourceList | undefined,
  cpuMilli: bigint,
  memoryBytes: bigint,
): ResourceList | undefined {
  const { cpu: _cpu, memory: _memory, ...others } = list ?? {};
  const amounts = {
    ...(cpuMilli === 0n ? {} : { cpu: Quantity.ofMilli(cpuMilli).toString() }),
    ...(memoryBytes === 0n ? {} : { memory: Quantity.of(memoryBytes, 'BinarySI').toString() }),
    ...others,
  };
  return Object.keys(amounts).length === 0 ? undefined : amounts;
}
