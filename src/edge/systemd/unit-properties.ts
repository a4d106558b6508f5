// The systemd properties of a slice: those of a new slice, and resource limits as properties. Pure.
// Upstream: libcontainer's systemd/common.go, v1.go and v2.go. Invariant: names, types, values and order are upstream's,
// so that a slice looks the same whichever kubelet created it.
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { sharesToWeight } from '../../api/quantity/cpu-shares.ts';
import { KubeletError } from '../../base/errors.ts';

/** `signature`: the D-Bus type: s string, as strings, b boolean, t unsigned 64 bits, ay bytes. */
export interface UnitProperty {
  readonly name: string;
  readonly signature: 's' | 'as' | 'b' | 't' | 'ay';
  readonly value: string | readonly string[] | boolean | bigint | Buffer;
}

/** USEC_INFINITY, CGROUP_LIMIT_MAX: systemd's "no limit". */
const infinity = (1n << 64n) - 1n;
const defaultPeriodUs = 100_000n;
/** systemd accepts CPU quotas in steps of 1 %. */
const quotaStepUs = 10_000n;
/** The systemd versions that introduced CPUQuotaPeriodUSec, AllowedCPUs and an idle CPUWeight. */
const quotaPeriodSince = 242;
const allowedCpusSince = 244;
const cpuIdleSince = 252;

interface PropertyTarget {
  readonly cgroupVersion: 1 | 2;
  /** -1: unknown; newer properties are then not used. */
  readonly systemdVersion: number;
}

const flag = (name: string, value: boolean): UnitProperty => ({ name, signature: 'b', value });
const number = (name: string, value: bigint): UnitProperty => ({
  name,
  signature: 't',
  value: BigInt.asUintN(64, value),
});

/** `parent`: the parent slice; `-.slice` is the root. */
export function newSliceProperties(
  unit: string,
  parent: string,
  cgroupVersion: 1 | 2,
): readonly UnitProperty[] {
  return [
    { name: 'Description', signature: 's', value: `libcontainer container ${unit}` },
    { name: 'Wants', signature: 'as', value: [parent] },
    flag('MemoryAccounting', true),
    flag('CPUAccounting', true),
    flag(cgroupVersion === 1 ? 'BlockIOAccounting' : 'IOAccounting', true),
    flag('TasksAccounting', true),
    flag('DefaultDependencies', false),
  ];
}

/** Settings without a systemd property are written to the files of the cgroup by the caller. */
export function resourceProperties(
  settings: CgroupSettings,
  target: PropertyTarget,
): readonly UnitProperty[] {
  const { cpuShares, memoryLimitBytes, pidsLimit } = settings;
  const isV1 = target.cgroupVersion === 1;
  const properties: UnitProperty[] = [];
  if (isSet(memoryLimitBytes)) {
    properties.push(number(isV1 ? 'MemoryLimit' : 'MemoryMax', memoryLimitBytes));
    // No memory limit means no swap limit either.
    if (!isV1 && memoryLimitBytes === -1n) properties.push(number('MemorySwapMax', infinity));
  }
  if (isSet(cpuShares))
    properties.push(isV1 ? number('CPUShares', cpuShares) : number('CPUWeight', sharesToWeight(cpuShares)));
  properties.push(...quotaProperties(settings.cpuQuotaUs ?? 0n, settings.cpuPeriodUs ?? 0n, target));
  if (pidsLimit !== undefined && (pidsLimit > 0n || pidsLimit === -1n))
    properties.push(number('TasksMax', pidsLimit));
  properties.push(...setProperties('AllowedCPUs', settings.cpus ?? '', target));
  if (!isV1)
    for (const [file, value] of Object.entries(settings.unified ?? {}))
      properties.push(...unifiedProperties(file, value.trim(), settings.unified ?? {}, target));
  return properties;
}

function isSet(amount: bigint | undefined): amount is bigint {
  return amount !== undefined && amount !== 0n;
}

function quotaProperties(quotaUs: bigint, periodUs: bigint, target: PropertyTarget): readonly UnitProperty[] {
  const properties: UnitProperty[] = [];
  if (periodUs !== 0n && target.systemdVersion >= quotaPeriodSince)
    properties.push(number('CPUQuotaPeriodUSec', periodUs));
  if (quotaUs !== 0n || periodUs !== 0n)
    properties.push(number('CPUQuotaPerSecUSec', quotaPerSecond(quotaUs, periodUs)));
  return properties;
}

/** Rounded up, so that a container's quota never exceeds its pod's. */
function quotaPerSecond(quotaUs: bigint, periodUs: bigint): bigint {
  if (quotaUs <= 0n) return infinity;
  const exact = (quotaUs * 1_000_000n) / (periodUs === 0n ? defaultPeriodUs : periodUs);
  const rest = exact % quotaStepUs;
  return rest === 0n ? exact : exact - rest + quotaStepUs;
}

function setProperties(name: string, list: string, target: PropertyTarget): readonly UnitProperty[] {
  if (list === '' || target.systemdVersion < allowedCpusSince) return [];
  return [{ name, signature: 'ay', value: listToBits(list) }];
}

/** `0-2,8` → one bit per number, lowest byte first. */
export function listToBits(list: string): Buffer {
  const numbers = list.split(',').flatMap((text) => {
    const part = text.trim();
    if (part === '') return [];
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined || Number(last) < Number(first)) throw notAList(list);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at);
  });
  if (numbers.length === 0) throw notAList(list);
  const bits = Buffer.alloc((Math.max(...numbers) >> 3) + 1);
  for (const each of numbers) bits.writeUInt8(bits.readUInt8(each >> 3) | (1 << (each & 7)), each >> 3);
  return bits;
}

function notAList(list: string): KubeletError {
  return new KubeletError('invalid', 'CgroupValue', `${JSON.stringify(list)} is not a list of numbers`);
}

const memoryProperties: Readonly<Record<string, string>> = {
  'memory.high': 'MemoryHigh',
  'memory.low': 'MemoryLow',
  'memory.min': 'MemoryMin',
  'memory.max': 'MemoryMax',
  'memory.swap.max': 'MemorySwapMax',
  'pids.max': 'TasksMax',
};

/** A cgroup v2 file as a property; empty for a file without one. */
function unifiedProperties(
  file: string,
  value: string,
  all: Readonly<Record<string, string>>,
  target: PropertyTarget,
): readonly UnitProperty[] {
  const property = memoryProperties[file];
  if (property !== undefined) return [number(property, value === 'max' ? infinity : toNumber(file, value))];
  const isIdle = (text: string): boolean => text === '1' && target.systemdVersion >= cpuIdleSince;
  switch (file) {
    case 'cpu.idle':
      return isIdle(value) ? [number('CPUWeight', 0n)] : [];
    case 'cpu.weight':
      return isIdle(all['cpu.idle']?.trim() ?? '') ? [] : [number('CPUWeight', toNumber(file, value))];
    case 'cpu.max': {
      const [quota = '', period = `${defaultPeriodUs}`] = value.split(/\s+/);
      return quotaProperties(quota === 'max' ? 0n : toNumber(file, quota), toNumber(file, period), target);
    }
    case 'cpuset.cpus':
      return setProperties('AllowedCPUs', value, target);
    case 'cpuset.mems':
      return setProperties('AllowedMemoryNodes', value, target);
    default:
      return [];
  }
}

function toNumber(file: string, text: string): bigint {
  if (!/^\d+$/.test(text))
    throw new KubeletError('invalid', 'CgroupValue', `${file}: ${JSON.stringify(text)} is not a number`);
  return BigInt(text);
}

/** `252.38-1~deb12u1`, `v245.4-1.fc32` → 252, 245; -1 if it is not a version. */
export function systemdVersionOf(text: string): number {
  return Number(/^"?v?(\d+)/.exec(text)?.[1] ?? -1);
}
