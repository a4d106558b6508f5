// Names and I/O counters of disks by device number. Upstream: cadvisor's machine info (DiskMap) and fs (getDiskStatsMap).
import type { DeviceIo } from '../../api/ports/cgroup-usage.ts';
import type { DiskCounters } from '../../api/ports/host-usage.ts';

export interface DiskNames {
  /** `/dev/vda` for `254:0`; empty if there is no such disk. */
  nameOf(numbers: string): string;
}

interface Disk {
  readonly numbers: string;
  readonly name: string;
  readonly counters: DiskCounters;
}

/** In the kernel's order after the name of the disk. */
const counterNames = [
  'reads',
  'readsMerged',
  'sectorsRead',
  'readMs',
  'writes',
  'writesMerged',
  'sectorsWritten',
  'writeMs',
  'inProgress',
  'ioMs',
  'weightedMs',
] as const satisfies readonly (keyof DiskCounters)[];

export function parseDisks(text: string): readonly Disk[] {
  return text.split('\n').flatMap((line) => {
    const [major, minor, name, ...values] = line.trim().split(/\s+/);
    if (name === undefined || values.length < counterNames.length) return [];
    const counted = counterNames.map((counter, index) => [counter, Number(values[index])]);
    const counters = Object.fromEntries(counted) as Record<keyof DiskCounters, number>;
    return [{ numbers: `${major}:${minor}`, name: `/dev/${name}`, counters }];
  });
}

/** How long the table is not read again for an unknown device number. */
const minRereadMs = 60_000;

/** Rereads the table for unknown device numbers, since disks can be added and removed. */
export class DiskTable implements DiskNames {
  readonly #read: () => string;
  readonly #monotonic: () => number;
  #names = new Map<string, string>();
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(read: () => string, monotonic: () => number) {
    this.#read = read;
    this.#monotonic = monotonic;
  }

  nameOf(numbers: string): string {
    const known = this.#names.get(numbers);
    if (known !== undefined) return known;
    const nowMs = this.#monotonic();
    if (nowMs - this.#readAtMs < minRereadMs) return '';
    this.#readAtMs = nowMs;
    this.#names = new Map(parseDisks(this.#read()).map((disk) => [disk.numbers, disk.name]));
    return this.#names.get(numbers) ?? '';
  }
}

export function deviceIo(
  disks: DiskNames,
  numbers: string,
  amounts: Pick<DeviceIo, 'readBytes' | 'writeBytes' | 'reads' | 'writes'>,
): DeviceIo {
  const [major = 0, minor = 0] = numbers.split(':').map(Number);
  return { device: disks.nameOf(numbers), major, minor, ...amounts };
}
