import { describe, expect, test } from 'vitest';
import { formatAmounts, parseAmounts } from '../../api/quantity/resource-amounts.ts';
import {
  allocatableOf,
  capacityOf,
  enforcedAllocatable,
  internalCapacityOf,
  podCapacity,
  type ReservationSettings,
  reservationFault,
  reservationOf,
} from './node-allocatable.ts';

const machine = {
  cpus: 4,
  memoryBytes: 8n * 1024n ** 3n,
  storageBytes: 100n * 1024n ** 3n,
  hugePages: [
    { sizeBytes: 2n * 1024n ** 2n, count: 512n },
    { sizeBytes: 1024n ** 3n, count: 0n },
  ],
  maxProcesses: 32_768n,
};
const none: ReservationSettings = { kubeReserved: {}, systemReserved: {}, evictionHard: {} };

test('capacity, as a node tells it', () =>
  expect(formatAmounts(capacityOf(machine))).toEqual({
    cpu: '4',
    memory: '8Gi',
    'ephemeral-storage': '100Gi',
    'hugepages-2Mi': '1Gi',
    'hugepages-1Gi': '0',
  }));

test('storage and processes that are not known are not told', () => {
  const unknown = { ...machine, storageBytes: undefined, maxProcesses: undefined };
  expect([...internalCapacityOf(unknown).keys()]).toEqual([
    'cpu',
    'memory',
    'hugepages-2Mi',
    'hugepages-1Gi',
  ]);
  expect(formatAmounts(internalCapacityOf(machine))['pid']).toBe('32768');
});

describe('pods', () => {
  for (const [perCore, most, want] of [
    [0, 110, 110],
    [10, 110, 40],
    [50, 110, 110],
  ] as const)
    test(`${perCore} per core, ${most} at most`, () =>
      expect(podCapacity(4, { maxPods: most, podsPerCore: perCore })).toBe(want));
});

describe('what is kept back', () => {
  const cases: readonly (readonly [string, Partial<ReservationSettings>, Record<string, string>])[] = [
    ['nothing', {}, {}],
    [
      'both reservations together',
      {
        kubeReserved: { cpu: '100m', memory: '1Gi' },
        systemReserved: { cpu: '200m', 'ephemeral-storage': '1Gi' },
      },
      { cpu: '300m', memory: '1Gi', 'ephemeral-storage': '1Gi' },
    ],
    ['what eviction keeps free', { evictionHard: { 'memory.available': '100Mi' } }, { memory: '100Mi' }],
    [
      'a part of the capacity, with single precision as upstream reckons',
      { evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%' } },
      { 'ephemeral-storage': '10737418400' },
    ],
    [
      'both',
      { kubeReserved: { memory: '1Gi' }, evictionHard: { 'memory.available': '100Mi' } },
      { memory: '1124Mi' },
    ],
    ['what the node does not have is not kept back', { kubeReserved: { pid: '100' } }, {}],
    [
      'CPUs by number count instead of amounts',
      { kubeReserved: { cpu: '1', memory: '1Gi' }, systemReserved: { cpu: '500m' }, reservedCpus: 2 },
      { cpu: '2', memory: '1Gi' },
    ],
  ];
  for (const [name, settings, want] of cases)
    test(name, () =>
      expect(formatAmounts(reservationOf(capacityOf(machine), { ...none, ...settings }))).toEqual(want),
    );
});

describe('what pods may have', () => {
  const settings: ReservationSettings = {
    kubeReserved: { cpu: '500m', memory: '1Gi', pid: '768' },
    systemReserved: { cpu: '500m' },
    evictionHard: { 'memory.available': '1Gi' },
  };

  test('for the scheduler: without reservations, eviction and huge pages', () => {
    const capacity = capacityOf(machine);
    expect(formatAmounts(allocatableOf(capacity, reservationOf(capacity, settings)))).toEqual({
      cpu: '3',
      memory: '5Gi',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
    });
  });

  test('as it is enforced: eviction is left to do its work', () =>
    expect(formatAmounts(enforcedAllocatable(internalCapacityOf(machine), settings))).toEqual({
      cpu: '3',
      memory: '7Gi',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
      pid: '32k',
    }));

  test('never less than nothing', () => {
    const capacity = parseAmounts({ cpu: '1', memory: '1Gi', 'hugepages-2Mi': '2Gi' });
    const left = allocatableOf(capacity, parseAmounts({ cpu: '2' }));
    expect(formatAmounts(left)).toEqual({ cpu: '0', memory: '0', 'hugepages-2Mi': '2Gi' });
  });
});

describe('a node that has less than is kept back', () => {
  test('is told so, for every resource', () =>
    expect(
      reservationFault(parseAmounts({ cpu: '1', memory: '1Gi' }), parseAmounts({ cpu: '2', memory: '3Gi' })),
    ).toBe(
      'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 2 but capacity of 1. Expected capacity >= reservation. ' +
        'Resource "memory" has a reservation of 3Gi but capacity of 1Gi. Expected capacity >= reservation.',
    ));
  test('is fine otherwise', () =>
    expect(reservationFault(parseAmounts({ cpu: '1' }), parseAmounts({ cpu: '1' }))).toBeUndefined());
});
