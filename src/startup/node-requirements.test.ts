import { describe, expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { kernelSettings, type RequirementHost, requirementSteps } from './node-requirements.ts';
import { noFacts } from './startup-step.ts';

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
    settings: { failSwapOn?: boolean; protectKernelDefaults?: boolean; ignoreKernelSettings?: boolean } = {},
  ) => {
    const defaults = { failSwapOn: true, protectKernelDefaults: false, ignoreKernelSettings: false };
    const step = requirementSteps({ ...defaults, ...settings }, host, silentLogger).find(
      (each) => each.name === name,
    );
    const done = await step?.run(signal, noFacts).catch((err: Error) => err.message);
    return { onFailure: step?.onFailure, done };
  };
  return { run, written };
}

describe('swap', () => {
  const message =
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';
  for (const [name, table, failSwapOn, want] of [
    ['accepts a node without swap', head, true, {}],
    ['rejects swap', swapOn, true, message],
    ['accepts swap if failSwapOn is false', swapOn, false, {}],
    ['accepts a kernel without swap support', undefined, true, {}],
  ] as const)
    test(name, async () =>
      expect(await rig({ swaps: async () => table }).run('swap', { failSwapOn })).toEqual({
        onFailure: 'fail',
        done: want,
      }),
    );
});

describe('controllers of cgroup v1', () => {
  for (const [name, mounted, want] of [
    ['needs none on cgroup v2', undefined, {}],
    ['accepts all', ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'], {}],
    ['does not need hugetlb and pids', ['cpu', 'cpuacct', 'cpuset', 'memory'], {}],
    [
      'names the missing ones',
      ['cpu', 'pids'],
      'system validation failed - Following Cgroup subsystem not mounted: [cpuacct cpuset memory]',
    ],
  ] as const)
    test(name, async () =>
      expect((await rig({ controllers: async () => mounted }).run('cgroup controllers')).done).toEqual(want),
    );
});

describe('kernel settings', () => {
  const off = { 'vm/overcommit_memory': '0\n', 'kernel/panic': '0\n' };

  test('sets only those that differ', async () => {
    const { run, written } = rig({}, off);
    expect(await run('kernel settings')).toEqual({ onFailure: 'warn', done: {} });
    expect(written).toEqual(['vm/overcommit_memory=1', 'kernel/panic=10']);
    expect((await run('kernel settings')).done).toEqual({});
    expect(written).toHaveLength(2);
  });

  test('with protectKernelDefaults names each that differs and changes none', async () => {
    const { run, written } = rig({}, off);
    expect(await run('kernel settings', { protectKernelDefaults: true })).toEqual({
      onFailure: 'fail',
      done:
        '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, ' +
        'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
    });
    expect(written).toEqual([]);
  });

  test('sets the others when one cannot be set', async () => {
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

  test('in a user namespace ignores those that cannot be set, but not those that must not differ', async () => {
    const writeSysctl = async (name: string): Promise<never> => {
      throw new KubeletError('forbidden', 'EACCES', `cannot write ${name}`);
    };
    const { run } = rig({ writeSysctl }, off);
    const inUserNamespace = { ignoreKernelSettings: true };
    expect((await run('kernel settings', inUserNamespace)).done).toEqual({});
    const isProtected = { ...inUserNamespace, protectKernelDefaults: true };
    expect((await run('kernel settings', isProtected)).done).toContain('invalid kernel flag');
  });
});
