// Converts the usage of cgroups and network interfaces to parts of the summary. Pure.
// Upstream: pkg/kubelet/stats/helper.go.
import type { Pressure, PressureLine } from '../../api/ports/cgroup-usage.ts';
import type { InterfaceUsage } from '../../api/ports/host-usage.ts';
import type { Measured } from '../collect/collect-usage.ts';
import type {
  CpuJson,
  InterfaceJson,
  IoJson,
  MemoryJson,
  NetworkJson,
  PsiJson,
  SwapJson,
} from './summary.ts';

/** As Go formats times: whole seconds, in UTC. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export interface UsageJson {
  readonly cpu?: CpuJson;
  readonly memory?: MemoryJson;
  readonly io?: IoJson;
  readonly swap?: SwapJson;
}

/** `psi`: whether the gate KubeletPSI is on. Figures that the kernel does not have for this cgroup are omitted. */
export function usageJson(usage: Measured | undefined, { psi }: { readonly psi: boolean }): UsageJson {
  if (usage === undefined) return {};
  const time = timeText(usage.atMs);
  const pressure = psi ? usage.pressure : undefined;
  return {
    cpu: {
      time,
      ...defined('usageNanoCores', usage.nanoCores),
      ...defined('usageCoreNanoSeconds', usage.cpuNs),
      ...psiField(pressure?.cpu),
    },
    ...memoryFields(usage, time, pressure?.memory),
    ...(psi ? { io: { time, ...psiField(pressure?.io) } } : {}),
  };
}

function memoryFields(usage: Measured, time: string, pressure: Pressure | undefined): UsageJson {
  const { memory } = usage;
  if (memory === undefined) return { memory: { time, workingSetBytes: 0 } };
  const { limitBytes, swapBytes, swapLimitBytes, workingSetBytes } = memory;
  const left = (limit: number, used: number): number | undefined =>
    Number.isFinite(limit) ? Math.max(limit - used, 0) : undefined;
  const swapLeft = swapLimitBytes === undefined ? undefined : left(swapLimitBytes, swapBytes);
  return {
    memory: {
      time,
      ...defined('availableBytes', left(limitBytes, workingSetBytes)),
      usageBytes: memory.usageBytes,
      workingSetBytes,
      rssBytes: memory.rssBytes,
      pageFaults: memory.pageFaults,
      majorPageFaults: memory.majorPageFaults,
      ...psiField(pressure),
    },
    swap: { time, ...defined('swapAvailableBytes', swapLeft), swapUsageBytes: swapBytes },
  };
}

function psiField(pressure: Pressure | undefined): { readonly psi?: PsiJson } {
  return pressure === undefined
    ? {}
    : { psi: { full: psiLine(pressure.full), some: psiLine(pressure.some) } };
}

function psiLine({ avg10, avg300, avg60, totalUs }: PressureLine) {
  return { total: totalUs, avg10, avg60, avg300 };
}

/** The main interface is eth0, as upstream, or the first of `preferred` that exists. */
export function networkJson(
  interfaces: readonly InterfaceUsage[] | undefined,
  atMs: number,
  preferred: readonly (string | undefined)[],
): NetworkJson | undefined {
  if (interfaces === undefined || interfaces.length === 0) return undefined;
  const candidates = ['eth0', ...preferred];
  const main = candidates
    .map((name) => interfaces.find((each) => each.name === name))
    .find((each) => each !== undefined);
  return {
    time: timeText(atMs),
    ...(main === undefined ? { name: '' } : interfaceJson(main)),
    interfaces: interfaces.map(interfaceJson),
  };
}

function interfaceJson({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceUsage): InterfaceJson {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

export function defined<K extends string>(key: K, value: number | undefined): { readonly [P in K]?: number } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: number });
}
