// On directories with the files that the kernel would have put there: what is written where, and what is read from where.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { realClock } from '../../base/clock.ts';
import { cgroupfsSpelling, systemdSpelling } from './cgroup-spelling.ts';
import { filesOf } from './cgroup-v2.ts';
import { CgroupFs } from './cgroups.ts';

let made: string;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'cgroups-'));
});
afterEach(async () => await rm(made, { recursive: true }));

async function lay(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(made, path)), { recursive: true });
    await writeFile(join(made, path), text);
  }
}

async function contents(paths: readonly string[]): Promise<Record<string, string>> {
  const read = paths.map(async (path) => [path, await readFile(join(made, path), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(read));
}

function v1(controllers: readonly string[]): CgroupFs {
  const mountPoints = new Map(controllers.map((each) => [each, join(made, each)]));
  return new CgroupFs({
    hierarchies: { version: 1, mountPoints },
    spelling: cgroupfsSpelling,
    pageSizes: ['2MB', '1GB'],
    clock: realClock,
    killProcess: () => undefined,
  });
}

function v2(
  spelling = cgroupfsSpelling,
  controllers = ['cpu', 'memory', 'pids', 'hugetlb', 'cpuset'],
): CgroupFs {
  return new CgroupFs({
    hierarchies: { version: 2, root: made, controllers: new Set(controllers) },
    spelling,
    pageSizes: ['2MB', '1GB'],
    clock: realClock,
    killProcess: () => undefined,
  });
}

const pod = ['kubepods', 'burstable', 'podu'];
const everything = {
  cpuShares: 512n,
  cpuQuotaUs: 20_000n,
  cpuPeriodUs: 100_000n,
  memoryLimitBytes: 1_000_000n,
  pidsLimit: 100n,
  hugePageLimits: { '2MB': 4_194_304n },
  cpus: '0-1',
};

describe('version 1', () => {
  const files = {
    'cpu/kubepods/burstable/podu/cpu.shares': '1024',
    'cpu/kubepods/burstable/podu/cpu.cfs_quota_us': '-1',
    'cpu/kubepods/burstable/podu/cpu.cfs_period_us': '100000',
    'memory/kubepods/burstable/podu/memory.limit_in_bytes': '9223372036854771712',
    'memory/kubepods/burstable/podu/memory.usage_in_bytes': '4096\n',
    'pids/kubepods/burstable/podu/pids.max': 'max',
    'hugetlb/kubepods/burstable/podu/hugetlb.2MB.limit_in_bytes': '0',
    'hugetlb/kubepods/burstable/podu/hugetlb.1GB.limit_in_bytes': '9',
    'hugetlb/kubepods/burstable/podu/hugetlb.1GB.rsvd.limit_in_bytes': '9',
    'cpuset/kubepods/burstable/podu/cpuset.cpus': '',
  };
  const all = ['cpu', 'memory', 'pids', 'hugetlb', 'cpuset'];

  test('writes each amount to the file of its controller', async () => {
    await lay(files);
    await v1(all).update(pod, everything);
    expect(await contents(Object.keys(files))).toEqual({
      ...files,
      'cpu/kubepods/burstable/podu/cpu.shares': '512',
      'cpu/kubepods/burstable/podu/cpu.cfs_quota_us': '20000',
      'cpu/kubepods/burstable/podu/cpu.cfs_period_us': '100000',
      'memory/kubepods/burstable/podu/memory.limit_in_bytes': '1000000',
      'memory/kubepods/burstable/podu/memory.usage_in_bytes': '4096\n',
      'pids/kubepods/burstable/podu/pids.max': '100',
      'hugetlb/kubepods/burstable/podu/hugetlb.2MB.limit_in_bytes': '4194304',
      'hugetlb/kubepods/burstable/podu/hugetlb.1GB.limit_in_bytes': '0',
      // A kernel has this file or, before 5.7, has not: 2MB's is not there.
      'hugetlb/kubepods/burstable/podu/hugetlb.1GB.rsvd.limit_in_bytes': '0',
      'cpuset/kubepods/burstable/podu/cpuset.cpus': '0-1',
    });
  });

  test('what is not said, or nothing, is left alone; -1 lifts a limit', async () => {
    await lay(files);
    await v1(all).update(pod, { memoryLimitBytes: 0n, cpuQuotaUs: 0n, pidsLimit: -1n });
    expect(await contents(Object.keys(files))).toEqual(files);
  });

  test('reads back what is set and used', async () => {
    await lay(files);
    const cgroups = v1(all);
    expect({
      cpu: await cgroups.cpu(pod),
      limit: await cgroups.memoryLimitBytes(pod),
      usage: await cgroups.memoryUsageBytes(pod),
    }).toEqual({
      cpu: { cpuShares: 1024n, cpuQuotaUs: -1n, cpuPeriodUs: 100_000n },
      limit: 9_223_372_036_854_771_712n,
      usage: 4096n,
    });
  });

  test('a file that is not there is not made', async () => {
    await mkdir(join(made, 'cpu/kubepods'), { recursive: true });
    await expect(v1(['cpu']).update(['kubepods'], { cpuShares: 2n })).rejects.toMatchObject({
      kind: 'not-found',
      message: expect.stringContaining('cpu.shares'),
    });
    expect(await readdir(join(made, 'cpu/kubepods'))).toEqual([]);
  });

  test('a controller that is not mounted is named', async () =>
    await expect(v1(['cpu']).update(['kubepods'], { memoryLimitBytes: 5n })).rejects.toThrow(
      'cgroup controller memory is not mounted',
    ));

  test('tells in which hierarchies it is missing', async () => {
    await mkdir(join(made, 'cpu/kubepods'), { recursive: true });
    const cgroups = v1(['cpu', 'memory', 'blkio']);
    expect(await cgroups.missing(['kubepods'])).toBe(`missing paths: ${join(made, 'memory/kubepods')}`);
    await mkdir(join(made, 'memory/kubepods'), { recursive: true });
    expect(await cgroups.missing(['kubepods'])).toBeUndefined();
  });

  test('a new one takes the processors and memory nodes of the one above it', async () => {
    await lay({
      'cpuset/cpuset.cpus': '0-1\n',
      'cpuset/cpuset.mems': '0\n',
      'cpuset/kubepods/cpuset.cpus': '\n',
      'cpuset/kubepods/cpuset.mems': '\n',
    });
    await v1(['cpuset']).create(['kubepods'], {});
    expect(await contents(['cpuset/kubepods/cpuset.cpus', 'cpuset/kubepods/cpuset.mems'])).toEqual({
      'cpuset/kubepods/cpuset.cpus': '0-1',
      'cpuset/kubepods/cpuset.mems': '0',
    });
  });

  test('a cgroup that is there gets everything again, and a cpuset that was left empty its processors', async () => {
    const there = { ...files, 'cpuset/cpuset.cpus': '0-3\n', 'cpuset/cpuset.mems': '0\n' };
    await lay({
      ...there,
      'cpuset/kubepods/cpuset.cpus': '0-1\n',
      'cpuset/kubepods/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/cpuset.cpus': '\n',
      'cpuset/kubepods/burstable/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/podu/cpuset.mems': '\n',
    });
    await v1(all).create(pod, { cpuShares: 1024n, cpuQuotaUs: -1n });
    const seen = [
      'cpu/kubepods/burstable/podu/cpu.shares',
      'cpu/kubepods/burstable/podu/cpu.cfs_quota_us',
      'cpuset/kubepods/burstable/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.mems',
    ];
    expect(Object.values(await contents(seen))).toEqual(['1024', '-1', '0-1', '0-1', '0']);
  });

  test('for a container that is about to come, a new one is made where it has to be told something', async () => {
    for (const controller of all)
      await mkdir(join(made, controller, 'kubepods/burstable'), { recursive: true });
    const cgroups = v1(all);
    const where = async (): Promise<readonly string[]> => {
      const there = await Promise.all(
        all.map(async (controller) => {
          const names = await readdir(join(made, controller, 'kubepods/burstable'));
          return names.includes('podu') ? [controller] : [];
        }),
      );
      return there.flat();
    };
    // A directory of this test's has no files of the kernel's in it: the writing fails, the making is what counts.
    const begin = (settings: CgroupSettings): Promise<void> =>
      cgroups.begin(pod, settings).catch(() => undefined);
    await begin({ cpuShares: 2n, cpuQuotaUs: -1n, pidsLimit: -1n });
    expect(await where()).toEqual(['cpu']);
    await begin({ cpuShares: 2n });
    expect(await where()).toEqual(all);
  });

  test('what is made for a container has its amounts, and a cpuset is never left half made', async () => {
    await lay({ ...files, 'cpuset/cpuset.cpus': '0-3\n', 'cpuset/cpuset.mems': '0\n' });
    await lay({
      'cpuset/kubepods/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/podu/cpuset.mems': '\n',
    });
    await v1(all).begin(pod, everything);
    const seen = [
      'cpu/kubepods/burstable/podu/cpu.shares',
      'memory/kubepods/burstable/podu/memory.limit_in_bytes',
      'cpuset/kubepods/burstable/podu/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.mems',
    ];
    expect(Object.values(await contents(seen))).toEqual(['512', '1000000', '0-1', '0']);
  });

  test('processes, children and removal go over all hierarchies', async () => {
    await lay({
      'cpu/kubepods/podu/cgroup.procs': '12\n',
      'cpu/kubepods/podu/c/cgroup.procs': '13\n14\n',
      'memory/kubepods/podu/cgroup.procs': '12\n15\n',
    });
    const cgroups = v1(['cpu', 'memory']);
    expect(await cgroups.processes(['kubepods', 'podu'])).toEqual([12, 13, 14, 15]);
    await mkdir(join(made, 'memory/kubepods/podv'));
    expect(await cgroups.children(['kubepods'])).toEqual([
      ['kubepods', 'podu'],
      ['kubepods', 'podv'],
    ]);
    await cgroups.remove(['kubepods', 'podv']);
    await cgroups.remove(['kubepods', 'podv']);
    expect(await cgroups.children(['kubepods'])).toEqual([['kubepods', 'podu']]);
    // Files stand in for processes here: the directory does not go away while it has any.
    expect(await cgroups.removeIdle(['kubepods', 'podu'])).toBe(false);
    await expect(cgroups.remove(['kubepods', 'podu'])).rejects.toMatchObject({ kind: 'conflict' });
    expect(await cgroups.removeIdle(['kubepods', 'none'])).toBe(true);
  });
});

describe('version 2', () => {
  const controllers = new Set(['cpu', 'memory', 'hugetlb']);
  const cases = [
    ['nothing', {}, []],
    ['shares as weight', { cpuShares: 1024n }, [['cpu.weight', '39']]],
    ['quota and period', { cpuQuotaUs: 20_000n, cpuPeriodUs: 100_000n }, [['cpu.max', '20000 100000']]],
    ['no quota', { cpuQuotaUs: -1n, cpuPeriodUs: 100_000n }, [['cpu.max', 'max 100000']]],
    ['period alone', { cpuPeriodUs: 50_000n }, [['cpu.max', 'max 50000']]],
    ['quota alone', { cpuQuotaUs: 5_000n }, [['cpu.max', '5000 100000']]],
    ['memory', { memoryLimitBytes: 7n }, [['memory.max', '7']]],
    ['no memory limit', { memoryLimitBytes: -1n }, [['memory.max', 'max']]],
    ['processes', { pidsLimit: 9n }, [['pids.max', '9']]],
    ['unified', { unified: { 'memory.min': '5' } }, [['memory.min', '5']]],
    [
      'huge pages, the rest to none',
      { hugePageLimits: { '1GB': 5n } },
      [
        ['hugetlb.2MB.max', '0'],
        ['hugetlb.2MB.rsvd.max', '0'],
        ['hugetlb.1GB.max', '5'],
        ['hugetlb.1GB.rsvd.max', '5'],
      ],
    ],
  ] as const;
  for (const [name, settings, files] of cases)
    test(name, () => expect(filesOf(settings, controllers, ['2MB', '1GB'])).toEqual(files));

  test('reservations of huge pages are limited where the kernel can', async () => {
    await lay({ 'kubepods/hugetlb.2MB.max': 'max', 'kubepods/hugetlb.1GB.max': 'max' });
    await lay({ 'kubepods/hugetlb.2MB.rsvd.max': 'max' });
    await v2().update(['kubepods'], { hugePageLimits: { '2MB': 4_194_304n } });
    expect(await readdir(join(made, 'kubepods'))).not.toContain('hugetlb.1GB.rsvd.max');
    expect(await contents(['kubepods/hugetlb.2MB.max', 'kubepods/hugetlb.2MB.rsvd.max'])).toEqual({
      'kubepods/hugetlb.2MB.max': '4194304',
      'kubepods/hugetlb.2MB.rsvd.max': '4194304',
    });
    await rm(join(made, 'kubepods/hugetlb.1GB.max'));
    await expect(v2().update(['kubepods'], { hugePageLimits: {} })).rejects.toThrow('hugetlb.1GB.max');
  });

  test('a unified name that leads elsewhere is refused', () =>
    expect(() => filesOf({ unified: { '../x': '1' } }, controllers, [])).toThrow('is no file of a cgroup'));

  test('hands the controllers down to where a pod is made', async () => {
    await lay({ 'cgroup.subtree_control': 'cpu', 'kubepods.slice/cgroup.subtree_control': '' });
    await v2(systemdSpelling, ['cpu', 'memory']).create(['kubepods', 'podu'], {});
    expect(await contents(['cgroup.subtree_control', 'kubepods.slice/cgroup.subtree_control'])).toEqual({
      'cgroup.subtree_control': '+memory',
      'kubepods.slice/cgroup.subtree_control': '+cpu +memory',
    });
    expect(await readdir(join(made, 'kubepods.slice'))).toContain('kubepods-podu.slice');
  });

  test('tells which controllers it lacks', async () => {
    const cgroups = v2(cgroupfsSpelling, ['cpu', 'memory', 'pids']);
    expect(await cgroups.missing(['kubepods'])).toContain('does not exist');
    await lay({ 'kubepods/cgroup.controllers': 'memory\n' });
    expect(await cgroups.missing(['kubepods'])).toBe('missing controllers: cpu, pids');
  });

  test('reads back what is set and used', async () => {
    await lay({
      'kubepods/cpu.max': 'max 100000\n',
      'kubepods/cpu.weight': '39\n',
      'kubepods/memory.max': 'max\n',
      'kubepods/memory.current': '77\n',
    });
    const cgroups = v2();
    expect({
      cpu: await cgroups.cpu(['kubepods']),
      limit: await cgroups.memoryLimitBytes(['kubepods']),
      usage: await cgroups.memoryUsageBytes(['kubepods']),
    }).toEqual({
      cpu: { cpuShares: 998n, cpuQuotaUs: -1n, cpuPeriodUs: 100_000n },
      limit: -1n,
      usage: 77n,
    });
  });

  test('garbage from the kernel is an error that names it', async () => {
    await lay({ 'kubepods/memory.current': 'x\n', 'kubepods/cpu.max': '\n' });
    await expect(v2().memoryUsageBytes(['kubepods'])).rejects.toThrow('holds "x", not a number');
    await expect(v2().cpu(['kubepods'])).rejects.toThrow('cpu.max of');
  });
});
