// Derives the policies of pod and QoS class cgroups from the configuration and the gates. Pure.
// Upstream: NewContainerManager and NewQOSContainerManager in pkg/kubelet/cm.
import type { CgroupName } from '../../api/ports/cgroups.ts';
import type { PodCgroupPolicy } from './pod-cgroup-settings.ts';
import type { QosPolicy } from './qos-cgroup-settings.ts';

interface CgroupGates {
  readonly MemoryQoS: boolean;
  readonly PodLevelResources: boolean;
  readonly QOSReserved: boolean;
}

/** The cgroup of all pods, below cgroupRoot. */
export function podsCgroup(cgroupRoot: string): CgroupName {
  return [...cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'];
}

/** Read from the configuration for each pod, so that pods that start later have what it is then. */
export function podCgroupPolicy(
  config: {
    readonly cpuCFSQuota: boolean;
    readonly cpuCFSQuotaPeriod: { readonly ns: bigint };
    readonly podPidsLimit: number | bigint;
    readonly memoryReservationPolicy: string;
    readonly memoryThrottlingFactor?: number | undefined;
  },
  gates: CgroupGates,
  cgroupVersion: 1 | 2,
): PodCgroupPolicy {
  return {
    get enforceCpuLimits() {
      return config.cpuCFSQuota;
    },
    get cpuPeriodUs() {
      return config.cpuCFSQuotaPeriod.ns / 1_000n;
    },
    get pidsLimit() {
      return BigInt(config.podPidsLimit);
    },
    reservesMemory: reservesMemory(config, gates, cgroupVersion),
    get throttlingFactor() {
      return gates.MemoryQoS && cgroupVersion === 2 ? config.memoryThrottlingFactor : undefined;
    },
    podLevelResources: gates.PodLevelResources,
  };
}

export function qosPolicy(
  input: {
    readonly qosReserved: Readonly<Record<string, string>>;
    readonly memoryReservationPolicy: string;
    readonly allocatableMemoryBytes: bigint;
    readonly hugePageSizes: readonly string[];
  },
  gates: CgroupGates,
  cgroupVersion: 1 | 2,
): QosPolicy {
  const percent = /^(\d+)%$/.exec(input.qosReserved['memory'] ?? '')?.[1];
  return {
    podLevelResources: gates.PodLevelResources,
    memoryQos: gates.MemoryQoS && cgroupVersion === 2,
    reservesMemory: reservesMemory(input, gates, cgroupVersion),
    resetsMemory: cgroupVersion === 2,
    memoryReservePercent: gates.QOSReserved && percent !== undefined ? BigInt(percent) : undefined,
    allocatableMemoryBytes: input.allocatableMemoryBytes,
    hugePageSizes: input.hugePageSizes,
  };
}

/** The kernel protects requested memory from reclaim only if the configuration requests it. */
function reservesMemory(
  config: { readonly memoryReservationPolicy: string },
  gates: CgroupGates,
  cgroupVersion: 1 | 2,
): boolean {
  return gates.MemoryQoS && cgroupVersion === 2 && config.memoryReservationPolicy === 'TieredReservation';
}

/**
 * The CPUs that the cgroup of all pods names; empty if it names none. On cgroup v2 systemd disables the cpuset controller
 * of slices that name no CPUs, and with the static policy the CPU manager names them.
 * differs from upstream: otherwise no CPUs are named, so that a CPU that comes online later serves pods too.
 */
export function podsCpus(
  config: { readonly cgroupDriver: string; readonly cpuManagerPolicy: string },
  cgroupVersion: 1 | 2,
  onlineCpus: string,
): string {
  const isNeeded =
    cgroupVersion === 2 && config.cgroupDriver === 'systemd' && config.cpuManagerPolicy === 'none';
  return isNeeded ? onlineCpus : '';
}
