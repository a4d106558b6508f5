// The sources of statistics on a real machine: its cgroups, the host and this process.
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';
import type { Clock } from '../../base/clock.ts';
import type { Hierarchies } from '../cgroup/hierarchies.ts';
import { CgroupReaderV1 } from './cgroup-reader-v1.ts';
import { CgroupReaderV2 } from './cgroup-reader-v2.ts';
import { DiskTable } from './disk-names.ts';
import { HostReader } from './host-reader.ts';
import { KernelFiles } from './kernel-files.ts';
import { OwnProcess } from './own-process.ts';

export interface StatsHostOptions {
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly onUnreadable: (path: string, err: unknown) => void;
}

export function statsHost(
  clock: Clock,
  hierarchies: Hierarchies | undefined,
  { memoryBytes, onUnreadable, swapBytes }: StatsHostOptions,
) {
  const files = new KernelFiles({ onUnreadable });
  const disks = new DiskTable(
    () => files.text('/proc/diskstats') ?? '',
    () => clock.monotonic(),
  );
  const common = { files, disks, memoryBytes, swapBytes, now: () => clock.now() };
  return {
    cgroups: readerOf(hierarchies, common),
    host: new HostReader({ files }),
    own: new OwnProcess(files),
    /** The boot time of the machine. */
    bootedAtMs: Number(/^btime (\d+)$/m.exec(files.text('/proc/stat') ?? '')?.[1] ?? 0) * 1000,
    /** Yields to the event loop. */
    pause: () => new Promise<void>((resolve) => void setImmediate(resolve)),
  };
}

function readerOf(
  hierarchies: Hierarchies | undefined,
  common: Omit<ConstructorParameters<typeof CgroupReaderV1>[0], 'mountPoints'>,
): CgroupReader | undefined {
  if (hierarchies === undefined) return undefined;
  if (hierarchies.version === 1) return new CgroupReaderV1({ ...common, ...hierarchies });
  const usedSwapBytes = (): number => {
    const text = common.files.text('/proc/meminfo') ?? '';
    const kilobytes = (name: string): number => {
      const line = text.split('\n').find((each) => each.startsWith(`${name}:`)) ?? '';
      return Number(/^\w+:\s+(\d+) kB$/.exec(line)?.[1] ?? 0);
    };
    return (kilobytes('SwapTotal') - kilobytes('SwapFree')) * 1024;
  };
  return new CgroupReaderV2({ ...common, root: hierarchies.root, usedSwapBytes });
}
