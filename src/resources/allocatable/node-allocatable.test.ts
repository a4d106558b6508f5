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

test('reports CPU, memory, storage and huge pages as capacity', () =>
  expect(formatAmounts(capacityOf(machine))).toEqual({
    cpu: '4',
    memory: '8Gi',
    'ephemeral-storage': '107374182400',
    'hugepages-2Mi': '1Gi',
    'hugepages-1Gi': '0',
  }));

test('omits storage and processes from the capacity while they are unknown', () => {
  const unknown = { ...machine, storageBytes: undefined, maxProcesses: undefined };
  expect([...internalCapacityOf(unknown).keys()]).toEqual([
    'cpu',
    'memory',
    'hugepages-2Mi',
    'hugepages-1Gi',
  ]);
  expect(formatAmounts(internalCapacityOf(machine))['pid']).toBe('32768');
});

describe('podCapacity', () => {
  for (const [perCore, max, want] of [
    [0, 110, 110],
    [10, 110, 40],
    [50, 110, 110],
  ] as const)
    test(`allows ${want} pods on 4 CPUs with podsPerCore ${perCore} and maxPods ${max}`, () =>
      expect(podCapacity(4, { maxPods: max, podsPerCore: perCore })).toBe(want));
});

describe('reservationOf', () => {
  const cases: readonly (readonly [string, Partial<ReservationSettings>, Record<string, string>])[] = [
    ['reserves nothing by default', {}, {}],
    [
      'adds kubeReserved and systemReserved',
      {
        kubeReserved: { cpu: '100m', memory: '1Gi' },
        systemReserved: { cpu: '200m', 'ephemeral-storage': '1Gi' },
      },
      { cpu: '300m', memory: '1Gi', 'ephemeral-storage': '1Gi' },
    ],
    [
      'reserves hard eviction thresholds',
      { evictionHard: { 'memory.available': '100Mi' } },
      { memory: '100Mi' },
    ],
    [
      'computes percentages of the capacity in single precision, as upstream',
      { evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%' } },
      { 'ephemeral-storage': '10737418400' },
    ],
    [
      'adds reservations and eviction thresholds',
      { kubeReserved: { memory: '1Gi' }, evictionHard: { 'memory.available': '100Mi' } },
      { memory: '1124Mi' },
    ],
    ['ignores resources that are not part of the capacity', { kubeReserved: { pid: '100' } }, {}],
    [
      'replaces CPU amounts by the number of reserved CPUs',
      { kubeReserved: { cpu: '1', memory: '1Gi' }, systemReserved: { cpu: '500m' }, reservedCpus: 2 },
      { cpu: '2', memory: '1Gi' },
    ],
  ];
  for (const [name, settings, want] of cases)
    test(name, () =>
      expect(formatAmounts(reservationOf(capacityOf(machine), { ...none, ...settings }))).toEqual(want),
    );
});

describe('allocatable', () => {
  const settings: ReservationSettings = {
    kubeReserved: { cpu: '500m', memory: '1Gi', pid: '768' },
    systemReserved: { cpu: '500m' },
    evictionHard: { 'memory.available': '1Gi' },
  };

  test('for the scheduler excludes reservations, eviction thresholds and huge pages', () => {
    const capacity = capacityOf(machine);
    expect(formatAmounts(allocatableOf(capacity, reservationOf(capacity, settings)))).toEqual({
      cpu: '3',
      memory: '5Gi',
      'ephemeral-storage': '107374182400',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
    });
  });

  test('as enforced on cgroups includes what eviction thresholds keep free', () =>
    expect(formatAmounts(enforcedAllocatable(internalCapacityOf(machine), settings))).toEqual({
      cpu: '3',
      memory: '7Gi',
      'ephemeral-storage': '107374182400',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
      pid: '32k',
    }));

  test('is never negative', () => {
    const capacity = parseAmounts({ cpu: '1', memory: '1Gi', 'hugepages-2Mi': '2Gi' });
    const left = allocatableOf(capacity, parseAmounts({ cpu: '2' }));
    expect(formatAmounts(left)).toEqual({ cpu: '0', memory: '0', 'hugepages-2Mi': '2Gi' });
  });
});

describe('reservationFault', () => {
  test('names every resource whose reservation exceeds the capacity', () =>
    expect(
      reservationFault(parseAmounts({ cpu: '1', memory: '1Gi' }), parseAmounts({ cpu: '2', memory: '3Gi' })),
    ).toBe(
      'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 2 but capacity of 1. Expected capacity >= reservation. ' +
        'Resource "memory" has a reservation of 3Gi but capacity of 1Gi. Expected capacity >= reservation.',
    ));
  test('is undefined if the reservation equals the capacity', () =>
    expect(reservationFault(parseAmounts({ cpu: '1' }), parseAmounts({ cpu: '1' }))).toBeUndefined());
});

const roundedCpu = [
  ['1', '1'],
  ['250m', '250m'],
  ['0.1234', '123m'],
  ['0.1235', '124m'],
  ['499u', '0'],
  ['1500u', '2m'],
] as const;
test.each(roundedCpu)('a CPU reservation of %s counts as %s', (text, want) => {
  const kube = reservationOf(parseAmounts({ cpu: '4' }), { ...none, kubeReserved: { cpu: text } });
  const system = reservationOf(parseAmounts({ cpu: '4' }), { ...none, systemReserved: { cpu: text } });
  expect([kube, system].map((each) => formatAmounts(each)['cpu'] ?? '0')).toEqual([want, want]);
});
