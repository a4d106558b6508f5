// The metric families of a cgroup: name, type, help and where the value comes from. Invariant: names and labels are
// upstream's, help texts are ours. Upstream: cadvisor's metrics/prometheus.go with the metric sets that the kubelet enables.

import type { MemoryReclaim } from '../../api/ports/cgroup-usage.ts';
import type { DiskCounters, InterfaceUsage } from '../../api/ports/host-usage.ts';
import { labelText } from '../../base/metrics.ts';
import type { FamilySpec } from '../exposition.ts';
import type { CadvisorEntry } from './cadvisor-entry.ts';

/** A value, with its labels besides those of the container. */
type Sample = readonly [value: number, labels?: string];

interface ContainerFamily extends FamilySpec {
  readonly values: (entry: CadvisorEntry) => readonly Sample[];
  /** Rendered without a timestamp: a setting, not a measurement. */
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

/** Names of interfaces and devices may hold any character, so they are escaped. */
const label = (name: string, value: string): string => labelText([name], { [name]: value });
const seconds = (nanoseconds: number): number => nanoseconds / 1e9;
const limitOrZero = (bytes: number): number => (Number.isFinite(bytes) ? bytes : 0);

const cpu: readonly ContainerFamily[] = [
  counter('cpu_usage_seconds_total', 'Cumulative CPU time.', ({ usage }) =>
    usage.cpuNs === undefined || usage.cpuNs === 0 ? [] : [[seconds(usage.cpuNs), 'cpu="total"']],
  ),
  counter('cpu_user_seconds_total', 'Cumulative CPU time in user mode.', ({ details }) => [
    [seconds(details.cpuUserNs)],
  ]),
  counter('cpu_system_seconds_total', 'Cumulative CPU time in kernel mode.', ({ details }) => [
    [seconds(details.cpuSystemNs)],
  ]),
  counter('cpu_cfs_periods_total', 'Elapsed enforcement periods of the CPU limit.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[details.periods]],
  ),
  counter(
    'cpu_cfs_throttled_periods_total',
    'Throttled enforcement periods of the CPU limit.',
    ({ details }) => (details.cpuQuotaUs === undefined ? [] : [[details.throttledPeriods]]),
  ),
  counter('cpu_cfs_throttled_seconds_total', 'Total throttled time.', ({ details }) =>
    details.cpuQuotaUs === undefined ? [] : [[seconds(details.throttledNs)]],
  ),
  setting('spec_cpu_period', 'Period of the CPU limit, in microseconds.', ({ details }) => [
    [details.cpuPeriodUs],
  ]),
  setting('spec_cpu_quota', 'CPU time quota per period, in microseconds.', ({ details }) =>
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
  gauge('memory_kernel_usage', 'Kernel memory, in bytes.', ({ details }) => [[details.kernelMemoryBytes]]),
  gauge(
    'memory_mapped_file',
    'Memory-mapped files, in bytes.',
    ofMemory((each) => each.mappedFileBytes),
  ),
  gauge(
    'memory_swap',
    'Swap used, in bytes.',
    ofMemory((each) => each.swapBytes),
  ),
  counter('memory_failcnt', 'Number of times the memory limit was reached.', ({ details }) => [
    [details.memoryFailures],
  ]),
  gauge(
    'memory_usage_bytes',
    'Memory usage, including the page cache.',
    ofMemory((each) => each.usageBytes),
  ),
  gauge('memory_max_usage_bytes', 'Maximum memory usage so far.', ({ details }) => [
    [details.maxMemoryBytes],
  ]),
  gauge(
    'memory_working_set_bytes',
    'Working set: memory usage without inactive file pages.',
    ofMemory((each) => each.workingSetBytes),
  ),
  gauge(
    'memory_total_active_file_bytes',
    'Active file pages.',
    ofMemory((each) => each.activeFileBytes),
  ),
  gauge(
    'memory_total_inactive_file_bytes',
    'Inactive file pages.',
    ofMemory((each) => each.inactiveFileBytes),
  ),
  counter('memory_failures_total', 'Page faults, by type.', ({ usage }) =>
    usage.memory === undefined
      ? []
      : ['container', 'hierarchy'].flatMap((scope): readonly Sample[] => [
          [usage.memory?.pageFaults ?? 0, `failure_type="pgfault",scope="${scope}"`],
          [usage.memory?.majorPageFaults ?? 0, `failure_type="pgmajfault",scope="${scope}"`],
        ]),
  ),
  counter('oom_events_total', 'Out-of-memory kills.', ({ details }) => [[details.oomKills]]),
  ofReclaim('events_high_total', 'Times memory.high throttled a task.', (each) => each.highEvents),
  ofReclaim('events_max_total', 'Times memory.max was reached.', (each) => each.maxEvents),
  {
    ...ofReclaim('file_dirty_bytes', 'Modified file pages not yet written back.', (each) => each.dirtyBytes),
    type: 'gauge',
  },
  {
    ...ofReclaim('file_writeback_bytes', 'File pages being written back.', (each) => each.writebackBytes),
    type: 'gauge',
  },
  ofReclaim('pgscan_total', 'Pages scanned for reclaim.', (each) => each.scannedPages),
  ofReclaim('pgsteal_total', 'Reclaimed pages.', (each) => each.reclaimedPages),
  ofReclaim(
    'workingset_refault_file_total',
    'File pages read again after their eviction.',
    (each) => each.refaultedFilePages,
  ),
  ofReclaim(
    'workingset_refault_anon_total',
    'Anonymous pages read again after their eviction.',
    (each) => each.refaultedAnonymousPages,
  ),
  setting('spec_memory_limit_bytes', 'Memory limit; 0: none.', ({ usage }) =>
    usage.memory === undefined ? [] : [[limitOrZero(usage.memory.limitBytes)]],
  ),
  setting(
    'spec_memory_swap_limit_bytes',
    'Swap limit, on cgroup v1 including memory; 0: none.',
    ({ details }) => [[limitOrZero(details.rawSwapLimitBytes)]],
  ),
  setting('spec_memory_reservation_limit_bytes', 'Memory reservation; 0: none.', ({ details }) => [
    [limitOrZero(details.memoryReservationBytes)],
  ]),
];

function ofReclaim(name: string, help: string, pick: (each: MemoryReclaim) => number): ContainerFamily {
  return counter(`memory_${name}`, help, ({ details, usage }) =>
    usage.memory === undefined ? [] : [[pick(details.reclaim)]],
  );
}

const network: readonly ContainerFamily[] = [
  ofInterfaces('receive_bytes_total', 'Bytes received.', (each) => each.rxBytes),
  ofInterfaces('receive_packets_total', 'Packets received.', (each) => each.rxPackets),
  ofInterfaces('receive_packets_dropped_total', 'Packets dropped while receiving.', (each) => each.rxDropped),
  ofInterfaces('receive_errors_total', 'Errors while receiving.', (each) => each.rxErrors),
  ofInterfaces('transmit_bytes_total', 'Bytes transmitted.', (each) => each.txBytes),
  ofInterfaces('transmit_packets_total', 'Packets transmitted.', (each) => each.txPackets),
  ofInterfaces(
    'transmit_packets_dropped_total',
    'Packets dropped while transmitting.',
    (each) => each.txDropped,
  ),
  ofInterfaces('transmit_errors_total', 'Errors while transmitting.', (each) => each.txErrors),
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
  gauge('fs_limit_bytes', 'Size of the file system, in bytes.', ({ fileSystems }) =>
    fileSystems.map((each): Sample => [each.capacityBytes, label('device', each.device)]),
  ),
  gauge('fs_usage_bytes', 'Used bytes of the file system.', ({ fileSystems }) =>
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
  ofCounters('fs_reads_merged_total', 'Merged reads.', (each) => each.readsMerged),
  ofCounters('fs_writes_merged_total', 'Merged writes.', (each) => each.writesMerged),
  // differs from upstream: upstream reads the kernel's milliseconds as nanoseconds in these four.
  ofCounters('fs_read_seconds_total', 'Time spent reading.', (each) => each.readMs / 1000),
  ofCounters('fs_write_seconds_total', 'Time spent writing.', (each) => each.writeMs / 1000),
  ofCounters('fs_io_time_seconds_total', 'Time during which the disk was busy.', (each) => each.ioMs / 1000),
  ofCounters(
    'fs_io_time_weighted_seconds_total',
    'Total time of all requests, weighted by the number in flight.',
    (each) => each.weightedMs / 1000,
  ),
  { ...ofCounters('fs_io_current', 'Requests in flight.', (each) => each.inProgress), type: 'gauge' },
  counter(
    'blkio_device_usage_total',
    'Bytes transferred to and from the disk, by operation.',
    ({ details }) =>
      details.io.flatMap(({ device, major, minor, readBytes, writeBytes }): readonly Sample[] => {
        const labels = `${label('device', device)},major="${major}",minor="${minor}"`;
        return [
          [readBytes, `${labels},operation="Read"`],
          [writeBytes, `${labels},operation="Write"`],
        ];
      }),
  ),
];

/** The disks' own counters, reported for the machine only. */
function ofCounters(name: string, help: string, pick: (disk: DiskCounters) => number): ContainerFamily {
  return counter(name, help, ({ fileSystems }) =>
    fileSystems.flatMap((each): readonly Sample[] =>
      each.disk === undefined ? [] : [[pick(each.disk), label('device', each.device)]],
    ),
  );
}

/** The machine has the disks' own counters; every other cgroup has its own. */
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
  gauge('threads_max', 'Maximum number of threads; 0: unlimited.', ({ details }) => [[details.threadsMax]]),
  gauge('threads', 'Threads.', ({ details }) => [[details.threads]]),
  gauge('ulimits_soft', 'Soft ulimits of the first process; -1: unlimited.', (entry) =>
    entry.softOpenFiles === undefined ? [] : [[entry.softOpenFiles, 'ulimit="max_open_files"']],
  ),
  setting('creation_time_seconds', 'Creation time in seconds since the epoch.', ({ details }) => [
    [Math.trunc(details.createdAtMs / 1000)],
  ]),
  setting('start_time_seconds', 'Start time in seconds since the epoch.', ({ startedAtMs }) => [
    [Math.trunc(startedAtMs / 1000)],
  ]),
  gauge('health_state', "Always -1, as upstream: Kubernetes ignores an image's health check.", () => [[-1]]),
];

export const containerFamilies: readonly ContainerFamily[] = [
  ...cpu,
  ...memory,
  ...network,
  ...disk,
  ...processes,
];

/** With the feature gate KubeletPSI, if the kernel supports it. */
export const pressureFamilies: readonly ContainerFamily[] = (['cpu', 'memory', 'io'] as const).flatMap(
  (resource) => [
    counter(
      `pressure_${resource}_stalled_seconds_total`,
      `Time during which all tasks were stalled on ${resource}.`,
      ({ usage }) => (usage.pressure === undefined ? [] : [[usage.pressure[resource].full.totalUs / 1e6]]),
    ),
    counter(
      `pressure_${resource}_waiting_seconds_total`,
      `Time during which some task waited for ${resource}.`,
      ({ usage }) => (usage.pressure === undefined ? [] : [[usage.pressure[resource].some.totalUs / 1e6]]),
    ),
  ],
);
