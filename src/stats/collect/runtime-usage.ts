// Converts the runtime's container statistics to cgroup usage, for runtimes whose containers have no cgroups on this machine.
// Pure. Upstream: makeContainerStats in pkg/kubelet/stats/cri_stats_provider.go.

import type {
  ContainerStats,
  MemoryUsage as CriMemory,
  NetworkInterfaceUsage,
  NetworkUsage,
  PsiStats,
  SwapUsage,
  UInt64Value,
} from '../../api/cri/generated/runtime/v1/api.ts';
import type { CgroupUsage, MemoryUsage, Pressure } from '../../api/ports/cgroup-usage.ts';
import type { InterfaceUsage } from '../../api/ports/host-usage.ts';

const msOf = (nanoseconds: bigint): number => Number(nanoseconds / 1_000_000n);
const numberOf = (value: UInt64Value | undefined): number => Number(value?.value ?? 0n);
const noPressure: Pressure = {
  some: { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 },
  full: { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 },
};

export function usageOfStats(stats: ContainerStats): CgroupUsage {
  const { cpu, io, memory, swap } = stats;
  const hasPressure = [cpu, memory, io].some((part) => part?.psi !== undefined);
  return {
    path: stats.attributes?.id ?? '',
    atMs: msOf(cpu?.timestamp ?? memory?.timestamp ?? 0n),
    cpuNs: cpu?.usageCoreNanoSeconds === undefined ? undefined : numberOf(cpu.usageCoreNanoSeconds),
    memory: memory === undefined ? undefined : memoryOf(memory, swap),
    pressure: hasPressure
      ? { cpu: pressureOf(cpu?.psi), memory: pressureOf(memory?.psi), io: pressureOf(io?.psi) }
      : undefined,
    processes: 0,
  };
}

function memoryOf(memory: CriMemory, swap: SwapUsage | undefined): MemoryUsage {
  const workingSetBytes = numberOf(memory.workingSetBytes);
  const available = numberOf(memory.availableBytes);
  return {
    usageBytes: memory.usageBytes === undefined ? workingSetBytes : numberOf(memory.usageBytes),
    workingSetBytes,
    rssBytes: numberOf(memory.rssBytes),
    cacheBytes: 0,
    mappedFileBytes: 0,
    activeFileBytes: 0,
    inactiveFileBytes: 0,
    swapBytes: numberOf(swap?.swapUsageBytes),
    pageFaults: numberOf(memory.pageFaults),
    majorPageFaults: numberOf(memory.majorPageFaults),
    limitBytes: available === 0 ? Number.POSITIVE_INFINITY : available + workingSetBytes,
    swapLimitBytes:
      swap?.swapAvailableBytes === undefined
        ? undefined
        : numberOf(swap.swapAvailableBytes) + numberOf(swap.swapUsageBytes),
  };
}

function pressureOf(psi: PsiStats | undefined): Pressure {
  if (psi === undefined) return noPressure;
  const line = (data: PsiStats['Some']) => ({
    totalUs: Number(data?.Total ?? 0n),
    avg10: data?.Avg10 ?? 0,
    avg60: data?.Avg60 ?? 0,
    avg300: data?.Avg300 ?? 0,
  });
  return { some: line(psi.Some), full: line(psi.Full) };
}

/** The usage of a pod without a cgroup on this machine: the sum of its containers. */
export function sumOfUsages(path: string, usages: readonly CgroupUsage[]): CgroupUsage | undefined {
  const [first] = usages;
  if (first === undefined) return undefined;
  const memories = usages.flatMap(({ memory }) => memory ?? []);
  const total = (pick: (memory: MemoryUsage) => number): number =>
    memories.reduce((sum, memory) => sum + pick(memory), 0);
  return {
    path,
    atMs: Math.max(...usages.map(({ atMs }) => atMs)),
    cpuNs: usages.reduce((sum, { cpuNs }) => sum + (cpuNs ?? 0), 0),
    memory: {
      usageBytes: total((each) => each.usageBytes),
      workingSetBytes: total((each) => each.workingSetBytes),
      rssBytes: total((each) => each.rssBytes),
      cacheBytes: total((each) => each.cacheBytes),
      mappedFileBytes: total((each) => each.mappedFileBytes),
      activeFileBytes: total((each) => each.activeFileBytes),
      inactiveFileBytes: total((each) => each.inactiveFileBytes),
      swapBytes: total((each) => each.swapBytes),
      pageFaults: total((each) => each.pageFaults),
      majorPageFaults: total((each) => each.majorPageFaults),
      limitBytes: total((each) => each.limitBytes),
      swapLimitBytes: undefined,
    },
    // Stall times of containers overlap and cannot be summed.
    pressure: undefined,
    processes: usages.reduce((sum, { processes }) => sum + processes, 0),
  };
}

export function interfacesOf(network: NetworkUsage | undefined): readonly InterfaceUsage[] {
  const all = network === undefined ? [] : [network.defaultInterface, ...network.interfaces];
  const usable = all.filter((each): each is NetworkInterfaceUsage => each !== undefined);
  return usable.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes: numberOf(rxBytes),
    rxPackets: 0,
    rxErrors: numberOf(rxErrors),
    rxDropped: 0,
    txBytes: numberOf(txBytes),
    txPackets: 0,
    txErrors: numberOf(txErrors),
    txDropped: 0,
  }));
}
