import { describe, expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { kernelSettings, type RequirementHost, requirementSteps } from './node-requirements.ts';

const signal = new AbortController().signal;
const head = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
const swapOn = `${head}/dev/sda2  partition  1048572  0  -2\n`;

function rig(over: Partial<RequirementHost> = {}, values: Readonly<Record<string, string>> = {}) {
  const sysctls = new Map([
    ...Object.entries(kernelSettings).map(([name, value]) => [name, `${value}\n`] as const),
    ...Object.entries(values),
  ]);
  const written: string[] = [];
  const host: RequirementHost = {
    swaps: async () => head,
    controllers: async () => undefined,
    readSysctl: async (name) => sysctls.get(name) ?? '',
    writeSysctl: async (name, value) => {
      written.push(`${name}=${value}`);
      sysctls.set(name, value);
    },
    ...over,
  };
  const run = async (
    name: string,
    settings: { failSwapOn?: boolean; protectKernelDefaults?: boolean } = {},
  ) => {
    const defaults = { failSwapOn: true, protectKernelDefaults: false };
    const step = requirementSteps({ ...defaults, ...settings }, host, silentLogger).find(
      (each) => each.name === name,
    );
    return { onFailure: step?.onFailure, done: await step?.run(signal).catch((err: Error) => err.message) };
  };
  return { run, written };
}

describe('swap', () => {
  const refused =
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';
  for (const [name, table, failSwapOn, want] of [
    ['off', head, true, {}],
    ['on', swapOn, true, refused],
    ['on, and allowed', swapOn, false, {}],
    ['the kernel has none', undefined, true, {}],
  ] as const)
    test(name, async () =>
      expect(await rig({ swaps: async () => table }).run('swap', { failSwapOn })).toEqual({
        onFailure: 'fail',
        done: want,
      }),
    );
});

describe('controllers of version 1', () => {
  for (const [name, mounted, want] of [
    ['version 2', undefined, {}],
    ['all', ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'], {}],
    ['huge pages and processes are not needed', ['cpu', 'cpuacct', 'cpuset', 'memory'], {}],
    [
      'some missing',
      ['cpu', 'pids'],
      'system validation failed - Following Cgroup subsystem not mounted: [cpuacct cpuset memory]',
    ],
  ] as const)
    test(name, async () =>
      expect((await rig({ controllers: async () => mounted }).run('cgroup controllers')).done).toEqual(want),
    );
});

describe('settings of the kernel', () => {
  const off = { 'vm/overcommit_memory': '0\n', 'kernel/panic': '0\n' };

  test('what differs is set, and nothing else', async () => {
    const { run, written } = rig({}, off);
    expect(await run('kernel settings')).toEqual({ onFailure: 'warn', done: {} });
    expect(written).toEqual(['vm/overcommit_memory=1', 'kernel/panic=10']);
    expect((await run('kernel settings')).done).toEqual({});
    expect(written).toHaveLength(2);
  });

  test('protected: each that differs is named, and none is touched', async () => {
    const { run, written } = rig({}, off);
    expect(await run('kernel settings', { protectKernelDefaults: true })).toEqual({
      onFailure: 'fail',
      done:
        '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, ' +
        'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
    });
    expect(written).toEqual([]);
  });

  test('one that cannot be set does not keep the others from it', async () => {
    const written: string[] = [];
    const { run } = rig(
      {
        writeSysctl: async (name) => {
          if (name.startsWith('vm')) throw new KubeletError('forbidden', 'EROFS', `cannot write ${name}`);
          written.push(name);
        },
      },
      off,
    );
    expect((await run('kernel settings')).done).toBe('cannot write vm/overcommit_memory');
    expect(written).toEqual(['kernel/panic']);
  });
});
