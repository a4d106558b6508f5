import { describe, expect, test } from 'vitest';
import { judgeCgroupVersion, judgeControllers, judgeDriver, judgeMemoryLimit } from './cgroups.ts';
import type { CgroupFacts, RuntimeStatusFacts } from './facts.ts';
import type { Fact } from './finding.ts';

const facts: CgroupFacts = {
  version: 2,
  controllers: ['cpu', 'cpuset', 'memory', 'pids'],
  memoryLimit: undefined,
  machineMemoryBytes: 8n * 1024n ** 3n,
  isSystemd: true,
};
const known = <T>(value: T): Fact<T> => ({ isKnown: true, value });
const late = { isKnown: false, why: 'late' } as const;

describe('judgeCgroupVersion', () => {
  const cases = [
    [2, true, 'ok', 'cgroup v2', undefined],
    [1, true, 'fail', 'does not start', 'failCgroupV1: false'],
    [1, false, 'warn', 'later release', 'systemd.unified_cgroup_hierarchy=1'],
  ] as const;
  for (const [version, failCgroupV1, status, words, fix] of cases)
    test(`v${version}, failCgroupV1 ${failCgroupV1} → ${status}`, () => {
      const finding = judgeCgroupVersion({ ...facts, version }, { failCgroupV1 });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
      if (fix !== undefined) expect(finding.fix).toContain(fix);
    });
});

describe('judgeControllers', () => {
  const cases = [
    [2, ['cpu', 'cpuset', 'memory', 'pids'], 'ok', 'cpu, cpuset, memory, pids'],
    [2, ['cpu', 'pids'], 'fail', 'missing: cpuset, memory'],
    [1, ['cpu', 'cpuacct', 'cpuset', 'memory'], 'ok', 'cpu, cpuacct, cpuset, memory'],
    [1, ['cpu', 'cpuacct', 'cpuset'], 'fail', 'missing: memory'],
  ] as const;
  for (const [version, controllers, status, finding] of cases)
    test(`v${version} with ${controllers.join(' ')} → ${status}`, () => {
      const required = ['cpu', 'cpuacct', 'cpuset', 'memory'];
      expect(judgeControllers({ ...facts, version, controllers }, required)).toMatchObject({
        status,
        finding,
      });
    });
});

describe('judgeDriver', () => {
  const status = (cgroupDriver: string | undefined): Fact<RuntimeStatusFacts> =>
    known({
      conditions: [],
      sandboxImage: undefined,
      cgroupDriver,
      cniConfDir: undefined,
      cniBinDir: undefined,
    });
  const cases = [
    ['the call agrees', known('systemd'), status(undefined), 'systemd', 'ok', 'use systemd'],
    [
      'the call takes precedence over the status',
      known('systemd'),
      status('cgroupfs'),
      'systemd',
      'ok',
      'use systemd',
    ],
    ['the call differs: the kubelet follows', known('systemd'), late, 'cgroupfs', 'warn', 'takes precedence'],
    ['only the status reports it', known(undefined), status('systemd'), 'systemd', 'ok', 'use systemd'],
    [
      'the status differs: pods fail',
      known(undefined),
      status('cgroupfs'),
      'systemd',
      'fail',
      'pods do not start',
    ],
    [
      'the call is late, the status differs',
      late,
      status('cgroupfs'),
      'systemd',
      'fail',
      'pods do not start',
    ],
    ['no report', known(undefined), status(undefined), 'cgroupfs', 'warn', 'does not report'],
    ['no answer', late, late, 'cgroupfs', 'warn', 'late'],
    ['cgroupfs beside systemd', known('cgroupfs'), late, 'cgroupfs', 'warn', 'two programs'],
  ] as const;
  for (const [name, reported, runtime, cgroupDriver, expected, words] of cases)
    test(name, () => {
      const finding = judgeDriver(reported, runtime, known(facts), { cgroupDriver });
      expect(finding.status).toBe(expected);
      expect(finding.finding).toContain(words);
    });

  test('cgroupfs without systemd is what cgroupfs is for', () => {
    const machine = known({ ...facts, isSystemd: false });
    expect(judgeDriver(known('cgroupfs'), late, machine, { cgroupDriver: 'cgroupfs' }).status).toBe('ok');
  });
});

describe('judgeMemoryLimit', () => {
  const cases = [
    [undefined, 'ok'],
    [{ cgroup: '/', bytes: 2n ** 63n }, 'ok'],
    [{ cgroup: '/system.slice', bytes: 1024n ** 3n }, 'warn'],
  ] as const;
  for (const [memoryLimit, status] of cases)
    test(`${memoryLimit?.bytes ?? 'no limit'} → ${status}`, () =>
      expect(judgeMemoryLimit({ ...facts, memoryLimit }).status).toBe(status));
  test('names the cgroup and both amounts', () => {
    const memoryLimit = { cgroup: '/system.slice', bytes: 1024n ** 3n };
    expect(judgeMemoryLimit({ ...facts, memoryLimit }).finding).toBe(
      'the cgroup /system.slice is limited to 1 GiB of the 8 GiB that the kubelet reports as capacity',
    );
  });
});
