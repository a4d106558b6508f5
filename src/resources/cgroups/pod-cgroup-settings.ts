// Computes the settings of a pod's cgroup. Pure. Upstream: ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go and
// EnsureExists in pod_container_manager_linux.go.

import type { Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { hasPodLevelResources, limitsByContainer, podLimits, podRequests } from '../../api/pod/resources.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { milliCpuToQuotaUs, milliCpuToShares, minShares } from '../../api/quantity/cpu-shares.ts';
import { hugePageSizeName } from '../../api/quantity/huge-pages.ts';
import { memoryHighBytes } from '../../api/quantity/memory-high.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

export interface PodCgroupPolicy {
  /** cpuCFSQuota: whether CPU limits are enforced. */
  readonly enforceCpuLimits: boolean;
  readonly cpuPeriodUs: bigint;
  /** podPidsLimit; 0 or less for no limit. */
  readonly pidsLimit: bigint;
  /** MemoryQoS with TieredReservation, on a machine with cgroup v2. */
  readonly reservesMemory: boolean;
  /** memoryThrottlingFactor with MemoryQoS, on a machine with cgroup v2; undefined: pods are not throttled. */
  readonly throttlingFactor?: number | undefined;
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
}

const pageBytes = 4096n;

export function podCgroupSettings(pod: Pod, policy: PodCgroupPolicy): CgroupSettings {
  const options = { skipPodLevelResources: !policy.podLevelResources };
  const requests = podRequests(pod, options);
  const limits = podLimits(pod, options);
  const unified = { ...protection(pod, requests, policy), ...throttling(pod, requests, limits, policy) };
  return {
    ...classSettings(pod, requests, limits, policy),
    hugePageLimits: hugePages(requests),
    ...(policy.pidsLimit > 0n ? { pidsLimit: policy.pidsLimit } : {}),
    ...(Object.keys(unified).length > 0 ? { unified } : {}),
  };
}

function protection(pod: Pod, requests: ResourceAmounts, policy: PodCgroupPolicy): Record<string, string> {
  const memory = amountOf(requests, 'memory').value();
  if (!policy.reservesMemory || memory === 0n) return {};
  return { [podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: `${memory}` };
}

/** A pod with pod-level resources is throttled as a whole; otherwise each container is. */
function throttling(
  pod: Pod,
  requests: ResourceAmounts,
  limits: ResourceAmounts,
  policy: PodCgroupPolicy,
): Record<string, string> {
  const { podLevelResources, throttlingFactor: factor } = policy;
  if (factor === undefined || !podLevelResources || !hasPodLevelResources(pod)) return {};
  if (!isLimited(pod, 'memory', policy)) return {};
  const [requestBytes, mostBytes] = [
    amountOf(requests, 'memory').value(),
    amountOf(limits, 'memory').value(),
  ];
  const high = memoryHighBytes({ requestBytes, mostBytes, factor, pageBytes });
  return high === undefined ? {} : { 'memory.high': `${high}` };
}

function classSettings(
  pod: Pod,
  requests: ResourceAmounts,
  limits: ResourceAmounts,
  policy: PodCgroupPolicy,
): CgroupSettings {
  const qos = podQosClass(pod);
  if (qos === 'BestEffort') return { cpuShares: minShares };
  const { cpuPeriodUs } = policy;
  const cpuShares = milliCpuToShares(amountOf(requests, 'cpu').milliValue());
  const quota = milliCpuToQuotaUs(amountOf(limits, 'cpu').milliValue(), cpuPeriodUs);
  const cpu = { cpuQuotaUs: policy.enforceCpuLimits ? quota : -1n, cpuPeriodUs };
  const memory = { memoryLimitBytes: amountOf(limits, 'memory').value() };
  if (qos === 'Guaranteed') return { cpuShares, ...cpu, ...memory };
  return {
    cpuShares,
    ...(isLimited(pod, 'cpu', policy) ? cpu : {}),
    ...(isLimited(pod, 'memory', policy) ? memory : {}),
  };
}

/** A pod is limited if each of its containers is, or if it has a pod-level limit. */
function isLimited(pod: Pod, resource: 'cpu' | 'memory', policy: PodCgroupPolicy): boolean {
  const own = pod.spec?.resources?.limits?.[resource];
  if (
    policy.podLevelResources &&
    hasPodLevelResources(pod) &&
    own !== undefined &&
    !Quantity.parse(own).isZero()
  )
    return true;
  return limitsByContainer(pod).every(({ amounts }) => !amountOf(amounts, resource).isZero());
}

/** Amounts of huge pages by the kernel's name of the page size. */
export function hugePages(amounts: ResourceAmounts): Record<string, bigint> {
  const prefix = 'hugepages-';
  const found = [...amounts].filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(
    found.map(([name, amount]) => [
      hugePageSizeName(Quantity.parse(name.slice(prefix.length)).value()),
      amount.value(),
    ]),
  );
}
