// Runs on ordinary directories that hold the kernel's files: checks which file is written and read.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CgroupSettings } from '../../api/ports/cgroups.ts';
import { realClock } from '../../base/clock.ts';
import { cgroupfsSpelling, systemdSpelling } from './cgroup-spelling.ts';
import { filesOf } from './cgroup-v2.ts';
import { CgroupFs } from './cgroups.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cgroups-'));
});
afterEach(async () => await rm(dir, { recursive: true }));

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}

async function contents(paths: readonly string[]): Promise<Record<string, string>> {
  const read = paths.map(async (path) => [path, await readFile(join(dir, path), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(read));
}

function v1(controllers: readonly string[]): CgroupFs {
  const mountPoints = new Map(controllers.map((each) => [each, join(dir, each)]));
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
    hierarchies: { version: 2, root: dir, controllers: new Set(controllers) },
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

  test('writes each setting to the file of its controller', async () => {
    await writeFiles(files);
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
      // Kernels before 5.7 do not have this file: the one of 2MB is missing here.
      'hugetlb/kubepods/burstable/podu/hugetlb.1GB.rsvd.limit_in_bytes': '0',
      'cpuset/kubepods/burstable/podu/cpuset.cpus': '0-1',
    });
  });

  test('leaves absent and zero settings unchanged, and removes a limit with -1', async () => {
    await writeFiles(files);
    await v1(all).update(pod, { memoryLimitBytes: 0n, cpuQuotaUs: 0n, pidsLimit: -1n });
    expect(await contents(Object.keys(files))).toEqual(files);
  });

  test('reads settings and usage', async () => {
    await writeFiles(files);
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

  test("reads the CPUs and memory nodes of a container's cgroup", async () => {
    await writeFiles({ 'cpuset/kubepods/c/cpuset.cpus': '1,3\n', 'cpuset/kubepods/c/cpuset.mems': '0\n' });
    const cgroups = v1(all);
    expect(await cgroups.cpuset(['kubepods'], 'c')).toEqual({ cpus: '1,3', memoryNodes: '0' });
    expect(await cgroups.cpuset(['kubepods'], 'other')).toBeUndefined();
  });

  test('does not create a missing file', async () => {
    await mkdir(join(dir, 'cpu/kubepods'), { recursive: true });
    await expect(v1(['cpu']).update(['kubepods'], { cpuShares: 2n })).rejects.toMatchObject({
      kind: 'not-found',
      message: expect.stringContaining('cpu.shares'),
    });
    expect(await readdir(join(dir, 'cpu/kubepods'))).toEqual([]);
  });

  test('names a controller that is not mounted', async () =>
    await expect(v1(['cpu']).update(['kubepods'], { memoryLimitBytes: 5n })).rejects.toThrow(
      'cgroup controller memory is not mounted',
    ));

  test('names the hierarchies in which a cgroup is missing', async () => {
    await mkdir(join(dir, 'cpu/kubepods'), { recursive: true });
    const cgroups = v1(['cpu', 'memory', 'blkio']);
    expect(await cgroups.missing(['kubepods'])).toBe(`missing paths: ${join(dir, 'memory/kubepods')}`);
    await mkdir(join(dir, 'memory/kubepods'), { recursive: true });
    expect(await cgroups.missing(['kubepods'])).toBeUndefined();
  });

  test('a new cpuset inherits the CPUs and memory nodes of its parent', async () => {
    await writeFiles({
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

  test('an existing cgroup gets all settings again, and an empty cpuset its CPUs', async () => {
    const existing = { ...files, 'cpuset/cpuset.cpus': '0-3\n', 'cpuset/cpuset.mems': '0\n' };
    await writeFiles({
      ...existing,
      'cpuset/kubepods/cpuset.cpus': '0-1\n',
      'cpuset/kubepods/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/cpuset.cpus': '\n',
      'cpuset/kubepods/burstable/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/podu/cpuset.mems': '\n',
    });
    await v1(all).create(pod, { cpuShares: 1024n, cpuQuotaUs: -1n });
    const written = [
      'cpu/kubepods/burstable/podu/cpu.shares',
      'cpu/kubepods/burstable/podu/cpu.cfs_quota_us',
      'cpuset/kubepods/burstable/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.mems',
    ];
    expect(Object.values(await contents(written))).toEqual(['1024', '-1', '0-1', '0-1', '0']);
  });

  test('begin creates a new cgroup only in the hierarchies where a setting has to be written', async () => {
    for (const controller of all)
      await mkdir(join(dir, controller, 'kubepods/burstable'), { recursive: true });
    const cgroups = v1(all);
    const createdIn = async (): Promise<readonly string[]> => {
      const found = await Promise.all(
        all.map(async (controller) => {
          const names = await readdir(join(dir, controller, 'kubepods/burstable'));
          return names.includes('podu') ? [controller] : [];
        }),
      );
      return found.flat();
    };
    // The directories of this test lack the kernel's files, so the writes fail. Only the creation matters.
    const begin = (settings: CgroupSettings): Promise<void> =>
      cgroups.begin(pod, settings).catch(() => undefined);
    await begin({ cpuShares: 2n, cpuQuotaUs: -1n, pidsLimit: -1n });
    expect(await createdIn()).toEqual(['cpu']);
    await begin({ cpuShares: 2n });
    expect(await createdIn()).toEqual(all);
  });

  test.each([
    ['has no cgroup', [], /memory\.limit_in_bytes/, ['memory']],
    ['has an earlier one', ['cpu'], /cpu\.shares/, all],
  ] as const)(
    'begin writes a default of the kernel only where the cgroup exists: the hierarchy %s',
    async (_, left, failure, created) => {
      for (const controller of all) {
        const name = left.some((each) => each === controller)
          ? 'kubepods/burstable/podu'
          : 'kubepods/burstable';
        await mkdir(join(dir, controller, name), { recursive: true });
      }
      // The directories of this test lack the kernel's files, so the first write fails.
      const begun = v1(all).begin(pod, { cpuShares: 1024n, cpuQuotaUs: -1n, memoryLimitBytes: 4096n });
      await expect(begun).rejects.toThrow(failure);
      const found = await Promise.all(
        all.map((controller) => readdir(join(dir, controller, 'kubepods/burstable'))),
      );
      expect(all.filter((_each, at) => found[at]?.includes('podu'))).toEqual(created);
    },
  );

  test('begin applies the settings, and completes a cpuset', async () => {
    await writeFiles({ ...files, 'cpuset/cpuset.cpus': '0-3\n', 'cpuset/cpuset.mems': '0\n' });
    await writeFiles({
      'cpuset/kubepods/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/cpuset.mems': '0\n',
      'cpuset/kubepods/burstable/podu/cpuset.mems': '\n',
    });
    await v1(all).begin(pod, everything);
    const written = [
      'cpu/kubepods/burstable/podu/cpu.shares',
      'memory/kubepods/burstable/podu/memory.limit_in_bytes',
      'cpuset/kubepods/burstable/podu/cpuset.cpus',
      'cpuset/kubepods/burstable/podu/cpuset.mems',
    ];
    expect(Object.values(await contents(written))).toEqual(['512', '1000000', '0-1', '0']);
  });

  test('lists processes and children and removes cgroups in all hierarchies', async () => {
    await writeFiles({
      'cpu/kubepods/podu/cgroup.procs': '12\n',
      'cpu/kubepods/podu/c/cgroup.procs': '13\n14\n',
      'memory/kubepods/podu/cgroup.procs': '12\n15\n',
    });
    const cgroups = v1(['cpu', 'memory']);
    expect(await cgroups.processes(['kubepods', 'podu'])).toEqual([12, 13, 14, 15]);
    await mkdir(join(dir, 'memory/kubepods/podv'));
    expect(await cgroups.children(['kubepods'])).toEqual([
      ['kubepods', 'podu'],
      ['kubepods', 'podv'],
    ]);
    await cgroups.remove(['kubepods', 'podv']);
    await cgroups.remove(['kubepods', 'podv']);
    expect(await cgroups.children(['kubepods'])).toEqual([['kubepods', 'podu']]);
    // Files stand in for processes here: they keep the directory from being removed.
    expect(await cgroups.removeIdle(['kubepods', 'podu'])).toBe(false);
    await expect(cgroups.remove(['kubepods', 'podu'])).rejects.toMatchObject({ kind: 'conflict' });
    expect(await cgroups.removeIdle(['kubepods', 'none'])).toBe(true);
  });
});

describe('version 2', () => {
  const controllers = new Set(['cpu', 'memory', 'hugetlb']);
  const cases = [
    ['no settings', {}, []],
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
      'huge pages, unlisted sizes limited to 0',
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
    test(`filesOf: ${name}`, () => expect(filesOf(settings, controllers, ['2MB', '1GB'])).toEqual(files));

  test('limits reservations of huge pages if the kernel supports it', async () => {
    await writeFiles({ 'kubepods/hugetlb.2MB.max': 'max', 'kubepods/hugetlb.1GB.max': 'max' });
    await writeFiles({ 'kubepods/hugetlb.2MB.rsvd.max': 'max' });
    await v2().update(['kubepods'], { hugePageLimits: { '2MB': 4_194_304n } });
    expect(await readdir(join(dir, 'kubepods'))).not.toContain('hugetlb.1GB.rsvd.max');
    expect(await contents(['kubepods/hugetlb.2MB.max', 'kubepods/hugetlb.2MB.rsvd.max'])).toEqual({
      'kubepods/hugetlb.2MB.max': '4194304',
      'kubepods/hugetlb.2MB.rsvd.max': '4194304',
    });
    await rm(join(dir, 'kubepods/hugetlb.1GB.max'));
    await expect(v2().update(['kubepods'], { hugePageLimits: {} })).rejects.toThrow('hugetlb.1GB.max');
  });

  test('rejects a unified name that is a path', () =>
    expect(() => filesOf({ unified: { '../x': '1' } }, controllers, [])).toThrow('is not a cgroup file'));

  test('enables the controllers at every level above a new cgroup', async () => {
    await writeFiles({ 'cgroup.subtree_control': 'cpu', 'kubepods.slice/cgroup.subtree_control': '' });
    await v2(systemdSpelling, ['cpu', 'memory']).create(['kubepods', 'podu'], {});
    expect(await contents(['cgroup.subtree_control', 'kubepods.slice/cgroup.subtree_control'])).toEqual({
      'cgroup.subtree_control': '+memory',
      'kubepods.slice/cgroup.subtree_control': '+cpu +memory',
    });
    expect(await readdir(join(dir, 'kubepods.slice'))).toContain('kubepods-podu.slice');
  });

  test('names the controllers that a cgroup lacks', async () => {
    const cgroups = v2(cgroupfsSpelling, ['cpu', 'memory', 'pids']);
    expect(await cgroups.missing(['kubepods'])).toContain('does not exist');
    await writeFiles({ 'kubepods/cgroup.controllers': 'memory\n' });
    expect(await cgroups.missing(['kubepods'])).toBe('missing controllers: cpu, pids');
  });

  test('reads settings and usage', async () => {
    await writeFiles({
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

  test("reads the CPUs and memory nodes of a container's cgroup", async () => {
    await writeFiles({ 'kubepods/c/cpuset.cpus': '2\n', 'kubepods/c/cpuset.mems': '\n' });
    expect(await v2().cpuset(['kubepods'], 'c')).toEqual({ cpus: '2', memoryNodes: '' });
  });

  test('names a value that cannot be parsed', async () => {
    await writeFiles({ 'kubepods/memory.current': 'x\n', 'kubepods/cpu.max': '\n' });
    await expect(v2().memoryUsageBytes(['kubepods'])).rejects.toThrow('holds "x", not a number');
    await expect(v2().cpu(['kubepods'])).rejects.toThrow('cpu.max of');
  });
});
