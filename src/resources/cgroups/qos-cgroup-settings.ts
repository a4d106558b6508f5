// Computes the settings of the QoS class cgroups. Pure. Upstream: pkg/kubelet/cm/qos_container_manager_linux.go.

import type { Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { podRequests } from '../../api/pod/resources.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { milliCpuToShares, minShares } from '../../api/quantity/cpu-shares.ts';
import { amountOf } from '../../api/quantity/resource-amounts.ts';

export interface QosPolicy {
  readonly podLevelResources: boolean;
  readonly memoryQos: boolean;
  /** qosReserved of memory in percent, with its gate; undefined if not set. */
  readonly memoryReservePercent: bigint | undefined;
  /** Allocatable memory of all pods; undefined or 0 if unknown, and then nothing is reserved. */
  readonly allocatableMemoryBytes: bigint | undefined;
  /** The kernel's page sizes. QoS classes have no limit on huge pages. */
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
  // differs from upstream: zero is written too. Upstream omits it, so the value of the last pod stays after its removal.
  return policy.memoryQos ? { unified: { 'memory.min': `${bytes}` } } : {};
}

/** The limits of lower QoS classes if a percentage of the requests of higher ones is reserved. */
function memoryLimits(
  sums: Sums,
  policy: QosPolicy,
): { readonly burstable: bigint; readonly bestEffort: bigint } | undefined {
  const { allocatableMemoryBytes: allocatable, memoryReservePercent: percent } = policy;
  if (percent === undefined || allocatable === undefined || allocatable === 0n) return undefined;
  const burstable = allocatable - (sums.guaranteedMemory * percent) / 100n;
  return { burstable, bestEffort: burstable - (sums.burstableMemory * percent) / 100n };
}
