import { describe, expect, test } from 'vitest';
import { asPodUid } from '../../../src/api/pod/pod-ref.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { processMetrics } from '../../../src/metrics/process-metrics.ts';
import type { CadvisorEntry } from '../../../src/stats/cadvisor/cadvisor-entry.ts';
import { renderCadvisor } from '../../../src/stats/cadvisor/cadvisor-metrics.ts';
import { DiskMetrics } from '../../../src/stats/disk-metrics.ts';
import { renderResourceMetrics } from '../../../src/stats/resource-metrics.ts';
import { parsePrometheusText, sampleOf } from '../../clients/prometheus-text.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { fakeStatsEdge } from '../../fakes/fake-stats-edge.ts';
import { anInterface, FakeCgroupReader, memoryUsage } from '../../simulate/stats-world.ts';

const clock = new FakeClock();
const reader = new FakeCgroupReader(clock);
const zero = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };
const pressure = { some: { ...zero, totalUs: 2_000_000 }, full: { ...zero, totalUs: 500_000 } };
reader.groups.set('/kubepods/podu/id', {});
const machine = {
  bootId: 'b',
  machineId: 'm',
  systemUuid: 's',
  cores: 2,
  physicalCores: 1,
  sockets: 1,
  memoryBytes: 8000,
  swapBytes: 5,
  kernelVersion: '6.1',
  osVersion: 'A "quoted" name',
};

function entry(over: Partial<CadvisorEntry> = {}): CadvisorEntry {
  const details = reader.details('/kubepods/podu/id');
  if (details === undefined) throw new Error('no cgroup');
  return {
    path: '/kubepods/podu/id',
    container: 'c',
    image: 'busybox:1',
    name: 'id',
    namespace: 'default',
    pod: 'p',
    usage: {
      path: '/kubepods/podu/id',
      atMs: 1_700_000_000_000,
      cpuNs: 3e9,
      memory: memoryUsage({ limitBytes: 4000 }),
      pressure: { cpu: pressure, memory: pressure, io: pressure },
      processes: 2,
    },
    details,
    startedAtMs: 1_699_999_990_000,
    processes: { descriptors: 9, sockets: 1 },
    softOpenFiles: -1,
    interfaces: [],
    fileSystems: [],
    ...over,
  };
}

const slices = { clock, pause: () => Promise.resolve() };
const scrape = async (entries: readonly CadvisorEntry[], psi = true, failed = false) =>
  parsePrometheusText(
    await renderCadvisor({ machine, entries, atMs: 1_700_000_001_000, failed }, { psi, slices }),
  );

describe('/metrics/cadvisor', () => {
  test('reports a container', async () => {
    const families = await scrape([entry()]);
    const value = (name: string, labels: Record<string, string> = {}): number =>
      sampleOf(families, `container_${name}`, {
        id: '/kubepods/podu/id',
        container: 'c',
        pod: 'p',
        ...labels,
      }).value;
    expect({
      cpu: value('cpu_usage_seconds_total', { cpu: 'total' }),
      user: value('cpu_user_seconds_total'),
      throttled: value('cpu_cfs_throttled_seconds_total'),
      workingSet: value('memory_working_set_bytes'),
      limit: value('spec_memory_limit_bytes'),
      swapLimit: value('spec_memory_swap_limit_bytes'),
      faults: value('memory_failures_total', { failure_type: 'pgmajfault', scope: 'hierarchy' }),
      reads: value('fs_reads_total', { device: '/dev/sda' }),
      moved: value('blkio_device_usage_total', { operation: 'Write', major: '8', minor: '0' }),
      files: value('file_descriptors'),
      limitFiles: value('ulimits_soft', { ulimit: 'max_open_files' }),
      oom: value('oom_events_total'),
      waiting: value('pressure_cpu_waiting_seconds_total'),
      stalled: value('pressure_io_stalled_seconds_total'),
      seen: value('last_seen'),
    }).toEqual({
      cpu: 3,
      user: 2,
      throttled: 0.5,
      workingSet: 900,
      limit: 4000,
      swapLimit: 0,
      faults: 1,
      reads: 1,
      moved: 8192,
      files: 9,
      limitFiles: -1,
      oom: 3,
      waiting: 2,
      stalled: 0.5,
      seen: 1_700_000_001,
    });
    expect(sampleOf(families, 'container_memory_rss').atMs).toBe(1_700_000_000_000);
    expect(sampleOf(families, 'container_spec_cpu_quota').atMs).toBeUndefined();
    expect(families.has('container_network_receive_bytes_total')).toBe(false);
  });

  test('reports the machine: network, file systems, disks, escaped labels', async () => {
    const disk = {
      reads: 1,
      readsMerged: 2,
      sectorsRead: 3,
      readMs: 4000,
      writes: 5,
      writesMerged: 6,
      sectorsWritten: 7,
      writeMs: 8000,
      inProgress: 9,
      ioMs: 10_000,
      weightedMs: 11_000,
    };
    const fileSystem = {
      device: '/dev/vda',
      capacityBytes: 100,
      usedBytes: 40,
      inodes: 10,
      inodesFree: 9,
      disk,
    };
    const families = await scrape([
      entry({ path: '/', interfaces: [anInterface('odd"name')], fileSystems: [fileSystem] }),
    ]);
    expect(
      sampleOf(families, 'container_network_transmit_packets_dropped_total', { interface: 'odd"name' }).value,
    ).toBe(4);
    expect(sampleOf(families, 'container_fs_usage_bytes', { device: '/dev/vda' }).value).toBe(40);
    expect(sampleOf(families, 'container_fs_read_seconds_total').value).toBe(4);
    expect(families.get('container_fs_reads_total')?.samples.map(({ labels }) => labels['device'])).toEqual([
      '/dev/vda',
    ]);
    expect(
      sampleOf(families, 'machine_cpu_cores', { boot_id: 'b', machine_id: 'm', system_uuid: 's' }).value,
    ).toBe(2);
    expect(sampleOf(families, 'cadvisor_version_info', { osVersion: 'A "quoted" name' }).value).toBe(1);
  });

  test('omits series without a limit, a gate or memory', async () => {
    const details = { ...entry().details, cpuQuotaUs: undefined, io: [] };
    const usage = { ...entry().usage, memory: undefined };
    const families = await scrape([entry({ details, usage })], false, true);
    for (const name of [
      'spec_cpu_quota',
      'cpu_cfs_periods_total',
      'pressure_cpu_waiting_seconds_total',
      'memory_rss',
      'fs_reads_total',
    ])
      expect(families.has(`container_${name}`)).toBe(false);
    expect(sampleOf(families, 'container_scrape_error').value).toBe(1);
  });
});

describe('/metrics/resource', () => {
  test('reports only the scrape error if no stats are available', () => {
    const families = parsePrometheusText(renderResourceMetrics(undefined));
    expect([...families.keys()]).toEqual(['resource_scrape_error']);
    expect(sampleOf(families, 'resource_scrape_error').value).toBe(1);
  });
});

describe('/metrics', () => {
  test('reports the process, with monotonic counters', () => {
    const registry = new Metrics();
    const figures = { ...fakeStatsEdge.own.read() };
    processMetrics(registry, { ...fakeStatsEdge.own, read: () => figures });
    const families = (): number =>
      sampleOf(parsePrometheusText(registry.render()), 'process_cpu_seconds_total').value;
    expect(families()).toBe(1.5);
    figures.cpuSeconds = 1;
    expect(families()).toBe(1.5);
    figures.cpuSeconds = 2;
    expect(families()).toBe(2);
    expect(registry.render()).toContain('nodejs_version_info{version="v0"} 1\n');
  });

  test('reports claims and logs, without removed ones', () => {
    const registry = new Metrics();
    const metrics = new DiskMetrics(registry);
    const volume = {
      name: 'v',
      claim: { namespace: 'default', name: 'claim' },
      isLocalEphemeral: false,
      sizeLimitBytes: undefined,
      measuredAtMs: 0,
      usedBytes: 10,
      capacityBytes: 100,
      availableBytes: 90,
      inodesUsed: 2,
      inodes: 20,
      inodesFree: 18,
    };
    const pod = { uid: asPodUid('u'), namespace: 'default', name: 'p' };
    const disk = {
      pod,
      volumes: [volume, { ...volume, name: 'w', claim: undefined }],
      logs: new Map([['c', { bytes: 4096, inodes: 1 }]]),
      others: [],
    };
    metrics.show({ atMs: 0, pods: new Map([['u', disk]]), nodeFs: undefined, faults: [] });
    const families = parsePrometheusText(registry.render());
    const claim = { namespace: 'default', persistentvolumeclaim: 'claim' };
    expect(sampleOf(families, 'kubelet_volume_stats_used_bytes', claim).value).toBe(10);
    expect(sampleOf(families, 'kubelet_volume_stats_inodes_free', claim).value).toBe(18);
    expect(families.get('kubelet_volume_stats_used_bytes')?.samples).toHaveLength(1);
    expect(
      sampleOf(families, 'kubelet_container_log_filesystem_used_bytes', {
        uid: 'u',
        pod: 'p',
        container: 'c',
      }).value,
    ).toBe(4096);
    metrics.show({ atMs: 0, pods: new Map(), nodeFs: undefined, faults: [] });
    expect(registry.render()).not.toContain('"claim"');
  });
});
