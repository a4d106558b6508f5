import { describe, expect, test } from 'vitest';
import { formatAmounts } from '../../api/quantity/resource-amounts.ts';
import { type BudgetConfig, NodeBudget } from './node-budget.ts';

const machine = {
  cpus: 4,
  memoryBytes: 8n * 1024n ** 3n,
  storageBytes: 100n * 1024n ** 3n,
  hugePages: [],
  maxProcesses: 32_768n,
};

const config: BudgetConfig = {
  kubeReserved: { cpu: '500m', memory: '1Gi' },
  systemReserved: { memory: '512Mi' },
  evictionHard: { 'memory.available': '100Mi' },
  reservedSystemCPUs: '',
  maxPods: 110,
  podsPerCore: 0,
  enforceNodeAllocatable: ['pods'],
  systemReservedCgroup: '/system',
  kubeReservedCgroup: '/kube',
};

const budget = (over: Partial<BudgetConfig> = {}, ignoreEviction = false, autoReserve = false): NodeBudget =>
  new NodeBudget(
    machine,
    { ...config, ...over },
    { experimentalAllocatableIgnoreEviction: ignoreEviction, autoReserve },
  );

describe('NodeBudget', () => {
  test('--auto-reserve reduces allocatable and the limits of all pods, but limits no reserved cgroup', () => {
    const over = {
      kubeReserved: {},
      systemReserved: { memory: '1Gi' },
      enforceNodeAllocatable: ['pods', 'kube-reserved'],
    };
    const auto = budget(over, false, true);
    expect(auto.autoReserved()).toEqual({ cpu: '80m', 'ephemeral-storage': '10240Mi', pid: '1000' });
    expect(auto.allocatableList()).toEqual({
      cpu: '3920m',
      memory: '7068Mi',
      'ephemeral-storage': '96636764160',
    });
    expect(formatAmounts(auto.podsCgroupLimits())['pid']).toBe('31768');
    expect(auto.reservedCgroups().map(({ amounts }) => formatAmounts(amounts))).toEqual([{}]);
    expect(budget(over).autoReserved()).toEqual({});
  });

  test('allocatable is the capacity without reservations and hard eviction thresholds', () => {
    expect(budget().allocatableList()).toEqual({
      cpu: '3500m',
      memory: '6556Mi',
      'ephemeral-storage': '107374182400',
    });
  });

  test('ignores eviction thresholds with --experimental-allocatable-ignore-eviction', () => {
    expect(budget({}, true).allocatableList()['memory']).toBe('6656Mi');
  });

  test('limits all pods together to the capacity without reservations, eviction thresholds included', () => {
    expect(budget().maxMemoryBytes()).toBe(6656n * 1024n ** 2n);
  });

  test('reserved CPUs replace the reserved amounts of CPU', () => {
    expect(budget({ reservedSystemCPUs: '0-1' }).allocatableList()['cpu']).toBe('2');
  });

  test('podsPerCore lowers the number of pods', () => {
    expect([budget().maxPods(), budget({ podsPerCore: 5 }).maxPods()]).toEqual([110, 20]);
  });

  test('the cgroup of all pods is limited to the machine unless pods are enforced', () => {
    const memory = (names: readonly string[]): string | undefined =>
      formatAmounts(budget({ enforceNodeAllocatable: names }).podsCgroupLimits())['memory'];
    expect([memory(['pods']), memory([])]).toEqual(['6656Mi', '8Gi']);
  });

  const reserved = [
    [[], []],
    [['pods', 'system-reserved'], ['system-reserved /system']],
    [
      ['kube-reserved-compressible', 'system-reserved'],
      ['system-reserved /system', 'kube-reserved /kube compressible'],
    ],
  ] as const;
  for (const [names, want] of reserved) {
    test(`enforces the cgroups of ${JSON.stringify(names)}`, () => {
      const found = budget({ enforceNodeAllocatable: names }).reservedCgroups();
      expect(
        found.map(
          ({ cgroup, compressible, kind }) => `${kind} ${cgroup}${compressible ? ' compressible' : ''}`,
        ),
      ).toEqual(want);
    });
  }
});
