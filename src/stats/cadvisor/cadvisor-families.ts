// The series that cadvisor has of a cgroup: name, kind, and where the value comes from. Upstream: cadvisor's
// metrics/prometheus.go with the sets that the kubelet asks for. Invariant: names and labels are upstream's, help is ours.

import type { DiskCounters, InterfaceUsage } from '../../api/ports/host-usage.ts';
import { labelText } from '../../base/metrics.ts';
import type { FamilySpec } from '../exposition.ts';
import type { CadvisorEntry } from './cadvisor-entry.ts';

/** A value with the labels that it has besides those of its container. */
type Sample = readonly [value: number, labels?: string];

interface ContainerFamily extends FamilySpec {
  readonly values: (entry: CadvisorEntry) => readonly Sample[];
  /** Without the time at which it was measured: what was set, not what was used. */
  readonly untimed?: boolean;
}

const counter = (name: string, help: string, values: ContainerFamily['values']): ContainerFamily => ({
  name: `container_${name}`,
  type: 'counter',
  help,
  values,
});
const gauge = (name: string, help: string, values: ContainerFamily['values']): ContainerFamily => ({
  ...counter(name, help, values),
  type: 'gauge',
});
const setting = (name: string, help: string, values: ContainerFamily['values']): ContainerFamily => ({
  ...gauge(name, help, values),
  untimed: true,
});

/** Whoever may name interfaces and devices may use any sign. */
const label = (name: string, value: string): string => labelText([name], { [name]: value });
const seconds = (nanoseconds: number): number => nanoseconds / 1e9;
const limitOrNone = (bytes: number): number => (Number.isFinite(bytes) ? bytes : 0);

const cpu: readonly ContainerFamily[] = [
  counter('cpu_usage_seconds_total', 'CPU time used.', ({ usage }) =>
    usage.cpuNs === undefined || usage.cpuNs === 0 ? [] : [[seconds(usage.cpuNs), 'cpu="total"']],
  ),
  counter('cpu_user_seconds_total', 'CPU time used in user space.', ({ details }) => [
    [seconds(details.cpuUserNs)],
  ]),
  counter('cpu_system_seconds_total', 'CPU time used in the kernel.', ({ details }) => [
    [seconds(details.cpuSystemNs)],
  ]),
  counter('cpu_cfs_periods_total', 'Periods in which a CPU limit was enforced.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[details.periods]],
  ),
  counter('cpu_cfs_throttled_periods_total', 'Periods in which it was throttled.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[details.throttledPeriods]],
  ),
  counter('cpu_cfs_throttled_seconds_total', 'How long it was throttled.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[seconds(details.throttledNs)]],
  ),
  gauge('cpu_load_average_10s', 'Always 0: the kernel is not asked for it, as upstream.', () => [[0]]),
  gauge('cpu_load_d_average_10s', 'Always 0: the kernel is not asked for it, as upstream.', () => [[0]]),
  gauge('tasks_state', 'Always 0: the kernel is not asked for it, as upstream.', () =>
    ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'].map(
      (state): Sample => [0, `state="${state}"`],
    ),
  ),
  setting('spec_cpu_period', 'Length of the period of the CPU limit, in microseconds.', ({ details }) => [
    [details.cpuPeriodUs],
  ]),
  setting('spec_cpu_quota', 'CPU time allowed per period, in microseconds.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[details.cpuQuotaUs]],
  ),
  setting('spec_cpu_shares', 'CPU shares.', ({ details }) => [[details.cpuShares]]),
];

type Memory = NonNullable<CadvisorEntry['usage']['memory']>;
const ofMemory =
  (pick: (memory: Memory) => number): ContainerFamily['values'] =>
  ({ usage }) =>
    usage.memory === undefined ? [] : [[pick(usage.memory)]];

const memory: readonly ContainerFamily[] = [
  gauge(
    'memory_cache',
    'Page cache, in bytes.',
    ofMemory((each) => each.cacheBytes),
  ),
  gauge(
    'memory_rss',
    'Anonymous memory, in bytes.',
    ofMemory((each) => each.rssBytes),
  ),
  gauge('memory_kernel_usage', 'Memory of the kernel, in bytes.', ({ details }) => [
    [details.kernelMemoryBytes],
  ]),
  gauge(
    'memory_mapped_file',
    'Mapped files, in bytes.',
    ofMemory((each) => each.mappedFileBytes),
  ),
  gauge(
    'memory_swap',
    'Swap used, in bytes.',
    ofMemory((each) => each.swapBytes),
  ),
  counter('memory_failcnt', 'How often the memory limit was run into.', ({ details }) => [
    [details.memoryFailures],
  ]),
  gauge(
    'memory_usage_bytes',
    'Memory used, page cache included.',
    ofMemory((each) => each.usageBytes),
  ),
  gauge('memory_max_usage_bytes', 'The most memory used so far.', ({ details }) => [
    [details.maxMemoryBytes],
  ]),
  gauge(
    'memory_working_set_bytes',
    'Memory used that cannot be had back at once.',
    ofMemory((each) => each.workingSetBytes),
  ),
  gauge(
    'memory_total_active_file_bytes',
    'File pages in use.',
    ofMemory((each) => each.activeFileBytes),
  ),
  gauge(
    'memory_total_inactive_file_bytes',
    'File pages not used lately.',
    ofMemory((each) => each.inactiveFileBytes),
  ),
  counter('memory_failures_total', 'Page faults, by kind.', ({ usage }) =>
    usage.memory === undefined
      ? []
      : ['container', 'hierarchy'].flatMap((scope): readonly Sample[] => [
          [usage.memory?.pageFaults ?? 0, `failure_type="pgfault",scope="${scope}"`],
          [usage.memory?.majorPageFaults ?? 0, `failure_type="pgmajfault",scope="${scope}"`],
        ]),
  ),
  counter('oom_events_total', 'Processes killed for want of memory.', ({ details }) => [[details.oomKills]]),
  setting('spec_memory_limit_bytes', 'Memory limit; 0: none.', ({ usage }) =>
    usage.memory === undefined ? [] : [[limitOrNone(usage.memory.limitBytes)]],
  ),
  setting(
    'spec_memory_swap_limit_bytes',
    'Limit of swap, on cgroup v1 with memory; 0: none.',
    ({ details }) => [[limitOrNone(details.rawSwapLimitBytes)]],
  ),
  setting('spec_memory_reservation_limit_bytes', 'Memory kept for it; 0: none.', ({ details }) => [
    [limitOrNone(details.memoryReservationBytes)],
  ]),
];

const network: readonly ContainerFamily[] = [
  ofInterfaces('receive_bytes_total', 'Bytes received.', (each) => each.rxBytes),
  ofInterfaces('receive_packets_total', 'Packets received.', (each) => each.rxPackets),
  ofInterfaces('receive_packets_dropped_total', 'Packets dropped on receiving.', (each) => each.rxDropped),
  ofInterfaces('receive_errors_total', 'Errors on receiving.', (each) => each.rxErrors),
  ofInterfaces('transmit_bytes_total', 'Bytes sent.', (each) => each.txBytes),
  ofInterfaces('transmit_packets_total', 'Packets sent.', (each) => each.txPackets),
  ofInterfaces('transmit_packets_dropped_total', 'Packets dropped on sending.', (each) => each.txDropped),
  ofInterfaces('transmit_errors_total', 'Errors on sending.', (each) => each.txErrors),
];

function ofInterfaces(name: string, help: string, pick: (each: InterfaceUsage) => number): ContainerFamily {
  return counter(`network_${name}`, help, ({ interfaces }) =>
    interfaces.map((each): Sample => [pick(each), label('interface', each.name)]),
  );
}

const disk: readonly ContainerFamily[] = [
  gauge('fs_inodes_free', 'Free inodes of the file system.', ({ fileSystems }) =>
    fileSystems.map((each): Sample => [each.inodesFree, label('device', each.device)]),
  ),
  gauge('fs_inodes_total', 'Inodes of the file system.', ({ fileSystems }) =>
    fileSystems.map((each): Sample => [each.inodes, label('device', each.device)]),
  ),
  gauge('fs_limit_bytes', 'Size of the file system.', ({ fileSystems }) =>
    fileSystems.map((each): Sample => [each.capacityBytes, label('device', each.device)]),
  ),
  gauge('fs_usage_bytes', 'Used of the file system.', ({ fileSystems }) =>
    fileSystems.map((each): Sample => [each.usedBytes, label('device', each.device)]),
  ),
  counter('fs_reads_bytes_total', 'Bytes read from the disk.', ({ details }) =>
    details.io.map((each): Sample => [each.readBytes, label('device', each.device)]),
  ),
  counter('fs_writes_bytes_total', 'Bytes written to the disk.', ({ details }) =>
    details.io.map((each): Sample => [each.writeBytes, label('device', each.device)]),
  ),
  counter('fs_reads_total', 'Reads from the disk.', (entry) =>
    ofDisks(
      entry,
      (each) => each.reads,
      (each) => each.reads,
    ),
  ),
  counter('fs_writes_total', 'Writes to the disk.', (entry) =>
    ofDisks(
      entry,
      (each) => each.writes,
      (each) => each.writes,
    ),
  ),
  ofCounters('fs_sector_reads_total', 'Sectors read.', (each) => each.sectorsRead),
  ofCounters('fs_sector_writes_total', 'Sectors written.', (each) => each.sectorsWritten),
  ofCounters('fs_reads_merged_total', 'Reads that were merged.', (each) => each.readsMerged),
  ofCounters('fs_writes_merged_total', 'Writes that were merged.', (each) => each.writesMerged),
  // differs from upstream: there the kernel's milliseconds are taken for nanoseconds in these four.
  ofCounters('fs_read_seconds_total', 'Time spent reading.', (each) => each.readMs / 1000),
  ofCounters('fs_write_seconds_total', 'Time spent writing.', (each) => each.writeMs / 1000),
  ofCounters('fs_io_time_seconds_total', 'Time in which the disk was busy.', (each) => each.ioMs / 1000),
  ofCounters(
    'fs_io_time_weighted_seconds_total',
    'Time that all requests took.',
    (each) => each.weightedMs / 1000,
  ),
  { ...ofCounters('fs_io_current', 'Requests under way.', (each) => each.inProgress), type: 'gauge' },
  counter('blkio_device_usage_total', 'Bytes moved to and from the disk, by direction.', ({ details }) =>
    details.io.flatMap(({ device, major, minor, readBytes, writeBytes }): readonly Sample[] => {
      const labels = `${label('device', device)},major="${major}",minor="${minor}"`;
      return [
        [readBytes, `${labels},operation="Read"`],
        [writeBytes, `${labels},operation="Write"`],
      ];
    }),
  ),
];

/** Of the machine's own, for the machine as a whole. */
function ofCounters(name: string, help: string, pick: (disk: DiskCounters) => number): ContainerFamily {
  return counter(name, help, ({ fileSystems }) =>
    fileSystems.flatMap((each): readonly Sample[] =>
      each.disk === undefined ? [] : [[pick(each.disk), label('device', each.device)]],
    ),
  );
}

/** A disk is shown once: the machine as the disk itself counts it, all others as their cgroup does. */
function ofDisks(
  { details, fileSystems }: CadvisorEntry,
  ofDisk: (disk: DiskCounters) => number,
  ofCgroup: (io: CadvisorEntry['details']['io'][number]) => number,
): readonly Sample[] {
  if (fileSystems.length > 0)
    return fileSystems.flatMap((each): readonly Sample[] =>
      each.disk === undefined ? [] : [[ofDisk(each.disk), label('device', each.device)]],
    );
  return details.io.map((each): Sample => [ofCgroup(each), label('device', each.device)]);
}

const processes: readonly ContainerFamily[] = [
  gauge('processes', 'Processes.', ({ usage }) => [[usage.processes]]),
  gauge('file_descriptors', 'Open file descriptors.', (entry) => [[entry.processes.descriptors]]),
  gauge('sockets', 'Open sockets.', (entry) => [[entry.processes.sockets]]),
  gauge('threads_max', 'Most threads allowed; 0: any number.', ({ details }) => [[details.threadsMax]]),
  gauge('threads', 'Threads.', ({ details }) => [[details.threads]]),
  gauge('ulimits_soft', 'Soft limits of the first process; -1: none.', (entry) =>
    entry.softOpenFiles === undefined ? [] : [[entry.softOpenFiles, 'ulimit="max_open_files"']],
  ),
  setting('start_time_seconds', 'When it was made, since the epoch.', ({ details }) => [
    [Math.trunc(details.createdAtMs / 1000)],
  ]),
];

export const containerFamilies: readonly ContainerFamily[] = [
  ...cpu,
  ...memory,
  ...network,
  ...disk,
  ...processes,
];

/** With the gate KubeletPSI, where the kernel has it. */
export const pressureFamilies: readonly ContainerFamily[] = (['cpu', 'memory', 'io'] as const).flatMap(
  (resource) => [
    counter(
      `pressure_${resource}_stalled_seconds_total`,
      `Time in which nothing went on for want of ${resource}.`,
      ({ usage }) => (usage.pressure === undefined ? [] : [[usage.pressure[resource].full.totalUs / 1e6]]),
    ),
    counter(
      `pressure_${resource}_waiting_seconds_total`,
      `Time in which something waited for ${resource}.`,
      ({ usage }) => (usage.pressure === undefined ? [] : [[usage.pressure[resource].some.totalUs / 1e6]]),
    ),
  ],
);
