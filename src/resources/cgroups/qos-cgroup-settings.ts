// What the kernel is told of the classes of pods together. Pure. Upstream: pkg/kubelet/cm/qos_container_manager_linux.go.

import type { Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { podRequests } from '../../api/pod/resources.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { milliCpuToShares, minShares } from '../../api/quantity/cpu-shares.ts';
import { amountOf } from '../../api/quantity/resource-amounts.ts';

export interface QosPolicy {
  readonly podLevelResources: boolean;
  readonly memoryQos: boolean;
  /** qosReserved of memory in percent, behind its gate; undefined: none. */
  readonly memoryReservePercent: bigint | undefined;
  /** What pods may use together; undefined or 0: not known, so that nothing can be reserved. */
  readonly allocatableMemoryBytes: bigint | undefined;
  /** Page sizes of the kernel: classes are not limited in them. */
  readonly hugePageSizes: readonly string[];
}

interface QosSettings {
  readonly guaranteed: CgroupSettings;
  readonly burstable: CgroupSettings;
  readonly bestEffort: CgroupSettings;
}

const unbounded = 1n << 62n;

interface Sums {
  burstableMilliCpu: bigint;
  burstableMemory: bigint;
  guaranteedMemory: bigint;
}

export function qosCgroupSettings(pods: readonly Pod[], policy: QosPolicy): QosSettings {
  const sums = sumRequests(pods, policy);
  const hugePageLimits = Object.fromEntries(policy.hugePageSizes.map((size) => [size, unbounded]));
  const limits = memoryLimits(sums, policy);
  return {
    guaranteed: {
      hugePageLimits,
      ...memoryMin(sums.guaranteedMemory + sums.burstableMemory, policy),
    },
    burstable: {
      cpuShares: milliCpuToShares(sums.burstableMilliCpu),
      hugePageLimits,
      ...memoryMin(sums.burstableMemory, policy),
      ...(limits === undefined ? {} : { memoryLimitBytes: limits.burstable }),
    },
    bestEffort: {
      cpuShares: minShares,
      hugePageLimits,
      ...(limits === undefined ? {} : { memoryLimitBytes: limits.bestEffort }),
    },
  };
}

function sumRequests(pods: readonly Pod[], policy: QosPolicy): Sums {
  const sums: Sums = { burstableMilliCpu: 0n, burstableMemory: 0n, guaranteedMemory: 0n };
  for (const pod of pods) {
    const qos = podQosClass(pod);
    if (qos === 'BestEffort') continue;
    const requests = podRequests(pod, { skipPodLevelResources: !policy.podLevelResources });
    const memory = amountOf(requests, 'memory').value();
    if (qos === 'Guaranteed') sums.guaranteedMemory += memory;
    else {
      sums.burstableMilliCpu += amountOf(requests, 'cpu').milliValue();
      sums.burstableMemory += memory;
    }
  }
  return sums;
}

function memoryMin(bytes: bigint, policy: QosPolicy): CgroupSettings {
  // differs from upstream, which says nothing of nothing: what the last pod had would stay kept when it is gone.
  return policy.memoryQos ? { unified: { 'memory.min': `${bytes}` } } : {};
}

/** What lower classes may use when a part of what higher ones have asked for is kept for them. */
function memoryLimits(
  sums: Sums,
  policy: QosPolicy,
): { readonly burstable: bigint; readonly bestEffort: bigint } | undefined {
  const { allocatableMemoryBytes: allocatable, memoryReservePercent: percent } = policy;
  if (percent === undefined || allocatable === undefined || allocatable === 0n) return undefined;
  const burstable = allocatable - (sums.guaranteedMemory * percent) / 100n;
  return { burstable, bestEffort: burstable - (sums.burstableMemory * percent) / 100n };
}
