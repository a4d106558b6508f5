// Computes the settings of the QoS class cgroups. Pure. Upstream: pkg/kubelet/cm/qos_container_manager_linux.go.

import type { Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { podRequests } from '../../api/pod/resources.ts';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { milliCpuToShares, minShares } from '../../api/quantity/cpu-shares.ts';
import { amountOf } from '../../api/quantity/resource-amounts.ts';

export interface QosPolicy {
  readonly podLevelResources: boolean;
  /** The gate MemoryQoS, on cgroup v2: reserved cgroups of the node are protected. */
  readonly memoryQos: boolean;
  /** Also with TieredReservation: requested memory of pods is protected. */
  readonly reservesMemory: boolean;
  /** On cgroup v2, where the values of an earlier configuration would stay. */
  readonly resetsMemory: boolean;
  /** qosReserved of memory in percent, with its gate; undefined if not set. */
  readonly memoryReservePercent: bigint | undefined;
  /** Allocatable memory of all pods; undefined or 0 if unknown, and then nothing is reserved. */
  readonly allocatableMemoryBytes: bigint | undefined;
  /** The kernel's page sizes. QoS classes have no limit on huge pages. */
  readonly hugePageSizes: readonly string[];
}

interface QosSettings {
  /** The requested memory that the kernel protects: of Guaranteed pods by memory.min, of Burstable pods by memory.low. */
  readonly protectedBytes: { readonly guaranteed: bigint; readonly burstable: bigint };
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
  const { reservesMemory } = policy;
  return {
    protectedBytes: {
      guaranteed: reservesMemory ? sums.guaranteedMemory : 0n,
      burstable: reservesMemory ? sums.burstableMemory : 0n,
    },
    guaranteed: {
      hugePageLimits,
      // The kernel divides the protection of a cgroup among its children, so it covers both classes.
      ...protection(policy, {
        'memory.min': sums.guaranteedMemory + sums.burstableMemory,
        'memory.low': sums.burstableMemory,
      }),
    },
    burstable: {
      cpuShares: milliCpuToShares(sums.burstableMilliCpu),
      hugePageLimits,
      ...protection(policy, { 'memory.low': sums.burstableMemory }),
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

/** Zeros without a reservation: values of an earlier configuration must not stay. */
function protection(policy: QosPolicy, bytes: Readonly<Record<string, bigint>>): CgroupSettings {
  if (!policy.resetsMemory) return {};
  const texts = Object.entries(bytes).map(([key, value]) => [key, `${policy.reservesMemory ? value : 0n}`]);
  return { unified: Object.fromEntries(texts) as Record<string, string> };
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
