import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CgroupReaderV1 } from './cgroup-reader-v1.ts';
import { CgroupReaderV2 } from './cgroup-reader-v2.ts';
import { DiskTable } from './disk-names.ts';
import { rootOfLinux61 } from './fixtures/cgroup-v2-root.ts';
import { KernelFiles } from './kernel-files.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cgroup-readers-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  }
}

const diskstats = '   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0\n';
const common = {
  files: new KernelFiles(),
  disks: new DiskTable(
    () => diskstats,
    () => 0,
  ),
  memoryBytes: 1_000_000,
  swapBytes: 500,
  now: () => 7,
};
const psi =
  'some avg10=1.50 avg60=0.25 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n';
const pressure = {
  some: { totalUs: 12, avg10: 1.5, avg60: 0.25, avg300: 0 },
  full: { totalUs: 3, avg10: 0, avg60: 0, avg300: 0 },
};

describe('version 1', () => {
  const reader = (): CgroupReaderV1 =>
    new CgroupReaderV1({
      ...common,
      mountPoints: new Map(
        ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'].map((name) => [name, join(dir, name)]),
      ),
      unified: join(dir, 'unified'),
    });
  const files = {
    'cpuacct/p/c/cpuacct.usage': '123456789\n',
    'cpuacct/p/c/cpuacct.stat': 'user 7\nsystem 5\n',
    'cpu/p/c/cgroup.procs': '12\n13\n',
    'cpu/p/c/cpu.stat': 'nr_periods 4\nnr_throttled 2\nthrottled_time 9\n',
    'cpu/p/c/cpu.shares': '512\n',
    'cpu/p/c/cpu.cfs_period_us': '100000\n',
    'cpu/p/c/cpu.cfs_quota_us': '20000\n',
    'memory/p/c/memory.usage_in_bytes': '1000\n',
    'memory/p/c/memory.stat':
      'cache 1\nrss 2\ninactive_file 3\npgfault 4\ntotal_cache 300\ntotal_rss 200\ntotal_mapped_file 60\ntotal_swap 10\ntotal_pgfault 8\ntotal_pgmajfault 1\ntotal_inactive_file 250\ntotal_active_file 50\ntotal_dirty 31\ntotal_writeback 32\ntotal_workingset_refault_anon 34\ntotal_workingset_refault_file 33\n',
    'memory/p/c/memory.limit_in_bytes': '4000\n',
    'memory/p/c/memory.memsw.limit_in_bytes': '5000\n',
    'memory/p/c/memory.soft_limit_in_bytes': '9223372036854771712\n',
    'memory/p/c/memory.max_usage_in_bytes': '2000\n',
    'memory/p/c/memory.failcnt': '6\n',
    'memory/p/c/memory.kmem.usage_in_bytes': '77\n',
    'memory/p/c/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
    'memory/p/c/cgroup.clone_children': '0\n',
    'pids/p/c/pids.current': '11\n',
    'pids/p/c/pids.max': 'max\n',
    'blkio/p/c/blkio.throttle.io_service_bytes_recursive':
      '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n9:1 Read 5\nTotal 12288\n',
    'blkio/p/c/blkio.throttle.io_serviced_recursive': '8:0 Read 1\n8:0 Write 2\nTotal 3\n',
    'unified/p/c/cpu.pressure': psi,
    'unified/p/c/memory.pressure': psi,
  };

  test('reads the usage with descendants, and the working set without inactive file pages', async () => {
    await writeFiles(files);
    const none = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };
    expect(reader().usage('/p/c')).toEqual({
      path: '/p/c',
      atMs: 7,
      cpuNs: 123_456_789,
      memory: {
        usageBytes: 1000,
        workingSetBytes: 750,
        rssBytes: 200,
        cacheBytes: 300,
        mappedFileBytes: 60,
        activeFileBytes: 50,
        inactiveFileBytes: 250,
        swapBytes: 10,
        pageFaults: 8,
        majorPageFaults: 1,
        limitBytes: 4000,
        swapLimitBytes: 1000,
      },
      pressure: { cpu: pressure, memory: pressure, io: { some: none, full: none } },
      processes: 2,
    });
  });

  test('reads CPU and working set for a plot from three files', async () => {
    await writeFiles({
      'cpuacct/p/c/cpuacct.usage': files['cpuacct/p/c/cpuacct.usage'],
      'memory/p/c/memory.usage_in_bytes': files['memory/p/c/memory.usage_in_bytes'],
      'memory/p/c/memory.stat': files['memory/p/c/memory.stat'],
      'cpuacct/only/cpuacct.usage': '5\n',
    });
    expect(reader().load('/p/c')).toEqual({ cpuNs: 123_456_789, workingSetBytes: 750 });
    expect(reader().load('/only')).toEqual({ cpuNs: 5, workingSetBytes: undefined });
    expect(reader().load('/gone')).toBeUndefined();
  });

  test('reads memory and tasks for eviction from few files', async () => {
    await writeFiles({
      ...files,
      'memory/memory.usage_in_bytes': '900\n',
      'memory/memory.stat': 'total_inactive_file 1000\n',
      'memory/memory.limit_in_bytes': '9223372036854771712\n',
    });
    expect(reader().memory('/p/c')).toEqual({ usageBytes: 1000, workingSetBytes: 750, limitBytes: 4000 });
    expect(reader().memory('/')).toEqual({ usageBytes: 900, workingSetBytes: 0, limitBytes: 1_000_000 });
    expect(reader().tasks('/p/c')).toBe(11);
    expect([reader().memory('/gone'), reader().tasks('/gone')]).toEqual([undefined, undefined]);
  });

  test('reads the details', async () => {
    await writeFiles(files);
    expect(reader().details('/p/c')).toEqual({
      createdAtMs: expect.any(Number),
      cpuUserNs: 70_000_000,
      cpuSystemNs: 50_000_000,
      periods: 4,
      throttledPeriods: 2,
      throttledNs: 9,
      cpuShares: 512,
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 20_000,
      maxMemoryBytes: 2000,
      memoryFailures: 6,
      kernelMemoryBytes: 77,
      memoryReservationBytes: Number.POSITIVE_INFINITY,
      rawSwapLimitBytes: 5000,
      oomKills: 3,
      reclaim: {
        dirtyBytes: 31,
        writebackBytes: 32,
        scannedPages: 0,
        reclaimedPages: 0,
        refaultedFilePages: 33,
        refaultedAnonymousPages: 34,
        highEvents: 0,
        maxEvents: 0,
      },
      threads: 11,
      threadsMax: 0,
      io: [
        { device: '/dev/sda', major: 8, minor: 0, readBytes: 4096, writeBytes: 8192, reads: 1, writes: 2 },
        { device: '', major: 9, minor: 1, readBytes: 5, writeBytes: 0, reads: 0, writes: 0 },
      ],
    });
  });

  test('reports missing limits as infinite, and the capacity of the machine as limit of the root', async () => {
    await writeFiles({
      'memory/memory.usage_in_bytes': '1000\n',
      'memory/memory.stat': 'total_inactive_file 2000\n',
      'memory/p/memory.usage_in_bytes': '1\n',
      'memory/p/memory.stat': 'total_rss 1\n',
      'memory/p/memory.limit_in_bytes': '9223372036854771712\n',
      'memory/p/memory.memsw.limit_in_bytes': '9223372036854771712\n',
    });
    expect(reader().usage('/')?.memory).toMatchObject({
      workingSetBytes: 0,
      limitBytes: 1_000_000,
      swapLimitBytes: 500,
    });
    expect(reader().usage('/p')?.memory).toMatchObject({
      limitBytes: Number.POSITIVE_INFINITY,
      swapLimitBytes: Number.POSITIVE_INFINITY,
    });
  });

  test('returns undefined for a cgroup that was removed, also during the read', async () => {
    expect([reader().usage('/gone'), reader().details('/gone'), reader().createdAtMs('/gone')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await writeFiles({ 'memory/p/memory.usage_in_bytes': '1000\n' });
    expect(reader().usage('/p')).toBeUndefined();
    expect(reader().children('/gone')).toEqual([]);
  });

  test('lists the children', async () => {
    await writeFiles({ 'memory/p/a/x': '', 'memory/p/b/x': '', 'memory/p/file': '' });
    expect([reader().children('/p').toSorted(), reader().children('/')]).toEqual([['/p/a', '/p/b'], ['/p']]);
  });
});

describe('version 2', () => {
  const reader = (): CgroupReaderV2 => new CgroupReaderV2({ ...common, root: dir, usedSwapBytes: () => 44 });
  const stat =
    'anon 200\nfile 300\nkernel 77\nkernel_stack 5\nfile_mapped 60\ninactive_file 250\nactive_file 50\npgfault 8\npgmajfault 1\nfile_dirty 31\nfile_writeback 32\nworkingset_refault_anon 34\nworkingset_refault_file 33\npgscan 35\npgscan_kswapd 1\npgsteal 36\n';
  const files = {
    'p/c/cpu.stat':
      'usage_usec 123\nuser_usec 70\nsystem_usec 50\nnr_periods 4\nnr_throttled 2\nthrottled_usec 9\nnr_bursts 8\nburst_usec 8\n',
    'p/c/cpu.max': '20000 100000\n',
    'p/c/cpu.weight': '20\n',
    'p/c/memory.stat': stat,
    'p/c/memory.current': '1000\n',
    'p/c/memory.max': 'max\n',
    'p/c/memory.min': '0\n',
    'p/c/memory.peak': '2000\n',
    'p/c/memory.swap.current': '10\n',
    'p/c/memory.swap.max': '0\n',
    'p/c/memory.events': 'low 0\nhigh 37\nmax 6\noom 4\noom_kill 3\noom_group_kill 1\n',
    'p/c/pids.current': '11\n',
    'p/c/pids.max': '100\n',
    'p/c/cgroup.procs': '12\n',
    'p/c/cpu.pressure': psi,
    'p/c/memory.pressure': psi,
    'p/c/io.pressure': psi,
    'p/c/io.stat': '7:7 \n7:6 \n8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n',
  };

  test('reads CPU and working set for a plot from three files', async () => {
    await writeFiles({
      'p/c/cpu.stat': files['p/c/cpu.stat'],
      'p/c/memory.stat': stat,
      'p/c/memory.current': '1000\n',
      'cpu.stat': 'usage_usec 9\n',
      'memory.stat': stat,
      'only/cpu.stat': 'usage_usec 5\n',
    });
    expect(reader().load('/p/c')).toEqual({ cpuNs: 123_000, workingSetBytes: 750 });
    expect(reader().load('/')).toEqual({ cpuNs: 9_000, workingSetBytes: 250 });
    expect(reader().load('/only')).toEqual({ cpuNs: 5_000, workingSetBytes: undefined });
    expect(reader().load('/gone')).toBeUndefined();
  });

  test('reads memory and tasks for eviction from few files', async () => {
    await writeFiles({ ...files, 'memory.stat': stat });
    const limitBytes = Number.POSITIVE_INFINITY;
    expect(reader().memory('/p/c')).toEqual({ usageBytes: 1000, workingSetBytes: 750, limitBytes });
    // The root has no memory.current: anonymous and file pages.
    expect(reader().memory('/')).toEqual({ usageBytes: 500, workingSetBytes: 250, limitBytes: 1_000_000 });
    expect(reader().tasks('/p/c')).toBe(11);
    expect([reader().memory('/gone'), reader().tasks('/gone')]).toEqual([undefined, undefined]);
  });

  test('reads the usage', async () => {
    await writeFiles(files);
    expect(reader().usage('/p/c')).toEqual({
      path: '/p/c',
      atMs: 7,
      cpuNs: 123_000,
      memory: {
        usageBytes: 1000,
        workingSetBytes: 750,
        rssBytes: 200,
        cacheBytes: 300,
        mappedFileBytes: 60,
        activeFileBytes: 50,
        inactiveFileBytes: 250,
        swapBytes: 10,
        pageFaults: 8,
        majorPageFaults: 1,
        limitBytes: Number.POSITIVE_INFINITY,
        swapLimitBytes: 0,
      },
      pressure: { cpu: pressure, memory: pressure, io: pressure },
      processes: 1,
    });
  });

  test('reads the details', async () => {
    await writeFiles(files);
    expect(reader().details('/p/c')).toEqual({
      createdAtMs: expect.any(Number),
      cpuUserNs: 70_000,
      cpuSystemNs: 50_000,
      periods: 4,
      throttledPeriods: 2,
      throttledNs: 9_000,
      cpuShares: 500,
      cpuPeriodUs: 100_000,
      cpuQuotaUs: 20_000,
      maxMemoryBytes: 2000,
      memoryFailures: 6,
      kernelMemoryBytes: 77,
      memoryReservationBytes: 0,
      rawSwapLimitBytes: 0,
      oomKills: 3,
      reclaim: {
        dirtyBytes: 31,
        writebackBytes: 32,
        scannedPages: 35,
        reclaimedPages: 36,
        refaultedFilePages: 33,
        refaultedAnonymousPages: 34,
        highEvents: 37,
        maxEvents: 6,
      },
      threads: 11,
      threadsMax: 100,
      io: [
        { device: '/dev/sda', major: 8, minor: 0, readBytes: 4096, writeBytes: 8192, reads: 1, writes: 2 },
      ],
    });
  });

  test('computes the memory usage of the root, which has no memory.current', async () => {
    await writeFiles({ 'cpu.stat': 'usage_usec 9\n', 'memory.stat': stat });
    expect(reader().usage('/')).toMatchObject({
      cpuNs: 9_000,
      memory: {
        usageBytes: 500,
        workingSetBytes: 250,
        limitBytes: 1_000_000,
        swapBytes: 44,
        swapLimitBytes: 500,
      },
    });
  });

  test('reads the root of Linux 6.1, without devices that were never used', async () => {
    await writeFiles(rootOfLinux61);
    const { memory, cpuNs } = reader().usage('/') ?? {};
    expect(cpuNs).toBe(538_676_000_000);
    expect(memory).toMatchObject({
      usageBytes: 188_973_056 + 248_025_088,
      workingSetBytes: 188_973_056 + 248_025_088 - 131_928_064,
      rssBytes: 188_973_056,
      cacheBytes: 248_025_088,
      mappedFileBytes: 107_778_048,
      pageFaults: 308_908,
      majorPageFaults: 520,
    });
    expect(reader().details('/')).toMatchObject({
      cpuUserNs: 266_336_000_000,
      cpuShares: 0,
      maxMemoryBytes: 0,
      kernelMemoryBytes: 22_335_488,
      io: [{ major: 254, minor: 0, readBytes: 2_356_224, writeBytes: 263_999_488, reads: 137, writes: 3287 }],
    });
  });

  test('returns undefined for a cgroup that is removed during the read', async () => {
    await writeFiles({ 'p/memory.stat': stat });
    expect([reader().usage('/p'), reader().usage('/gone'), reader().details('/gone')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
