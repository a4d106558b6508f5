// Converts requests and limits to cgroup settings and the OOM score. Pure. Upstream: kuberuntime_container_linux.go, cm/helpers_linux.go, qos/policy.go.

import type { LinuxContainerResources } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, ResourceList } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { containerRequests, podLimits, podRequests } from '../../api/pod/resources.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { milliCpuToQuotaUs, milliCpuToShares, sharesToMilliCpu } from '../../api/quantity/cpu-shares.ts';
import { hugePageSizeName } from '../../api/quantity/huge-pages.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { type MemorySettings, memoryQosLimits, swapLimits } from './memory-limits.ts';

export interface ResourceSettings extends MemorySettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /** The kernel's huge page sizes in the CRI's form: 2MB, 1GB. */
  readonly hugePageSizes: readonly string[];
  /**
   * Whether the container, or any container of the pod, has CPUs of its own. They are all that it may use, so a CFS quota
   * would only throttle it. Undefined: no container has.
   */
  readonly hasExclusiveCpus?: (uid: PodUid, container?: string) => boolean;
  /** An OOM kill ends all processes of the container; requires cgroup v2. */
  readonly groupOomKill?: boolean;
}

const guaranteedOomScore = -997n;
const bestEffortOomScore = 1000n;

export function sandboxResources(pod: Pod, settings: ResourceSettings): CriRequest<LinuxContainerResources> {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  const resources = linuxResources(requests.get('cpu'), limits.get('cpu'), limits.get('memory'), settings);
  return withoutQuota(resources, settings.hasExclusiveCpus?.(podUid(pod)));
}

/** The resources of a pod's cgroup, less the pod's overhead, for UpdatePodSandboxResources. */
export function cgroupResources(
  pod: Pod,
  amounts: Pick<CgroupSettings, 'cpuPeriodUs' | 'cpuQuotaUs' | 'cpuShares' | 'memoryLimitBytes' | 'unified'>,
): CriRequest<LinuxContainerResources> {
  const overhead = pod.spec?.overhead;
  const [cpu, memory] = [
    amount(overhead, 'cpu')?.milliValue() ?? 0n,
    amount(overhead, 'memory')?.value() ?? 0n,
  ];
  const { cpuPeriodUs, cpuQuotaUs, cpuShares, memoryLimitBytes, unified } = amounts;
  const less = (value: bigint, by: bigint): bigint => (value > 0n ? value - by : value);
  return {
    ...(cpuPeriodUs === undefined ? {} : { cpuPeriod: cpuPeriodUs }),
    ...(cpuQuotaUs === undefined
      ? {}
      : { cpuQuota: less(cpuQuotaUs, milliCpuToQuotaUs(cpu, cpuPeriodUs ?? 0n)) }),
    ...(cpuShares === undefined
      ? {}
      : { cpuShares: cpu === 0n ? cpuShares : milliCpuToShares(sharesToMilliCpu(cpuShares) - cpu) }),
    ...(memoryLimitBytes === undefined ? {} : { memoryLimitInBytes: less(memoryLimitBytes, memory) }),
    ...(unified === undefined ? {} : { unified }),
  };
}

export function overheadResources(pod: Pod, settings: ResourceSettings): CriRequest<LinuxContainerResources> {
  const overhead = pod.spec?.overhead;
  if (overhead === undefined) return {};
  return linuxResources(
    amount(overhead, 'cpu'),
    amount(overhead, 'cpu'),
    amount(overhead, 'memory'),
    settings,
  );
}

export function containerResources(
  pod: Pod,
  container: Container,
  settings: ResourceSettings,
): CriRequest<LinuxContainerResources> {
  const requests = container.resources?.requests;
  const limits = container.resources?.limits;
  const podLevel = pod.spec?.resources?.limits;
  const memory = nonZero(limits, 'memory') ?? amount(podLevel, 'memory');
  const cpuLimit = nonZero(limits, 'cpu') ?? amount(podLevel, 'cpu');
  const base = withoutQuota(
    linuxResources(amount(requests, 'cpu'), cpuLimit, memory, settings),
    settings.hasExclusiveCpus?.(podUid(pod), container.name),
  );
  const { unified: swapUnified, ...swap } = swapLimits(pod, container, memory?.value() ?? 0n, settings);
  const qos = memoryQosLimits(pod, container, settings);
  const unified = { ...base.unified, ...swapUnified, ...qos.unified };
  return {
    ...base,
    oomScoreAdj: oomScoreAdj(pod, container, settings.memoryCapacityBytes),
    hugepageLimits: hugePageLimits(pod, container, settings.hugePageSizes),
    ...swap,
    ...(Object.keys(unified).length === 0 ? {} : { unified }),
  };
}

/** The oom_score_adj of the container's processes. */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: bigint): bigint {
  if (isCriticalPod(pod) && pod.spec?.priorityClassName === 'system-node-critical') return guaranteedOomScore;
  const qos = podQosClass(pod);
  if (qos === 'Guaranteed') return guaranteedOomScore;
  if (qos === 'BestEffort' || memoryCapacityBytes <= 0n) return bestEffortOomScore;
  const own = requestedMemory(container);
  // A sidecar is not killed before the regular containers.
  const served = isSidecarOf(pod, container) ? leastMemory(pod) : 0n;
  const request = (own > served ? own : served) + podLevelShare(pod);
  const score = 1000n - (1000n * request) / memoryCapacityBytes;
  const lowest = 1000n + guaranteedOomScore;
  if (score < lowest) return lowest;
  return score === bestEffortOomScore ? score - 1n : score;
}

function requestedMemory(container: Container): bigint {
  return amount(container.resources?.requests, 'memory')?.value() ?? 0n;
}

function isSidecarOf(pod: Pod, container: Container): boolean {
  return isSidecar(container) && (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);
}

/** The smallest memory request of a regular container. */
function leastMemory(pod: Pod): bigint {
  const requests = (pod.spec?.containers ?? []).map(requestedMemory);
  return requests.reduce((least, each) => (each < least ? each : least), requests[0] ?? 0n);
}

/** The pod-level request beyond the sum of its containers, divided equally among them. */
function podLevelShare(pod: Pod): bigint {
  const requested = amount(pod.spec?.resources?.requests, 'memory')?.value() ?? 0n;
  if (requested === 0n) return 0n;
  const ofContainers = containerRequests(pod).get('memory')?.value() ?? 0n;
  const count = (pod.spec?.containers.length ?? 0) + (pod.spec?.initContainers?.length ?? 0);
  return (requested - ofContainers) / BigInt(Math.max(1, count));
}

function linuxResources(
  cpuRequest: Quantity | undefined,
  cpuLimit: Quantity | undefined,
  memoryLimit: Quantity | undefined,
  settings: ResourceSettings,
): CriRequest<LinuxContainerResources> {
  const shares = milliCpuToShares((cpuRequest ?? cpuLimit)?.milliValue() ?? 0n);
  const memory = memoryLimit?.value() ?? 0n;
  const periodUs = BigInt(settings.cpuCfsQuotaPeriodUs);
  return {
    cpuShares: shares,
    ...(memory > 0n ? { memoryLimitInBytes: memory } : {}),
    ...(settings.cpuCfsQuota
      ? { cpuPeriod: periodUs, cpuQuota: milliCpuToQuotaUs(cpuLimit?.milliValue() ?? 0n, periodUs) }
      : {}),
    ...(settings.groupOomKill === true ? { unified: { 'memory.oom.group': '1' } } : {}),
  };
}

function withoutQuota(
  resources: CriRequest<LinuxContainerResources>,
  hasExclusiveCpus: boolean | undefined,
): CriRequest<LinuxContainerResources> {
  return hasExclusiveCpus === true && resources.cpuQuota !== undefined
    ? { ...resources, cpuQuota: -1n }
    : resources;
}

/** A limit for every huge page size of the kernel; zero if the container requests none. */
function hugePageLimits(
  pod: Pod,
  container: Container,
  pageSizes: readonly string[],
): { pageSize: string; limit: bigint }[] {
  const requested = new Map<string, bigint>();
  for (const limits of [pod.spec?.resources?.limits, container.resources?.limits]) {
    for (const [name, text] of Object.entries(limits ?? {})) {
      if (!name.startsWith('hugepages-')) continue;
      requested.set(
        hugePageSizeName(Quantity.parse(name.slice('hugepages-'.length)).value()),
        Quantity.parse(text).value(),
      );
    }
  }
  return pageSizes.map((pageSize) => ({ pageSize, limit: requested.get(pageSize) ?? 0n }));
}

function nonZero(list: ResourceList | undefined, name: string): Quantity | undefined {
  const found = amount(list, name);
  return found?.sign() === 0 ? undefined : found;
}

function amount(list: ResourceList | undefined, name: string): Quantity | undefined {
  const text = list?.[name];
  return text === undefined ? undefined : Quantity.parse(text);
}
