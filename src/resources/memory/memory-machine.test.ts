import { describe, expect, test } from 'vitest';
import type { NumaNode } from '../../api/ports/machine-topology.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { initialMachineState, type MemoryReservation } from './memory-machine.ts';

const GiB = 2 ** 30;

function aNode(id: number, memoryGiB: number, hugePages: NumaNode['hugePages'] = []): NumaNode {
  const memoryBytes = BigInt(memoryGiB * GiB);
  return { id, memoryBytes, hugePages, distances: [], threads: [], caches: [] };
}

const small = { sizeBytes: 2n ** 21n, count: 512n };
const large = { sizeBytes: 2n ** 30n, count: 2n };

test('keeps huge pages and reserved memory from containers', () => {
  const state = initialMachineState(
    { nodes: [aNode(0, 8, [small, large]), aNode(2, 8)] },
    parseAmounts({ cpu: '1', memory: '1536Mi', 'hugepages-2Mi': '2Mi' }),
    [
      { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '2Mi' } },
      { numaNode: 2, limits: { memory: '512Mi' } },
    ],
  );
  const table = (total: number, systemReserved: number, free: number): object => ({
    total,
    systemReserved,
    allocatable: free,
    reserved: 0,
    free,
  });
  expect(state).toEqual({
    0: {
      numberOfAssignments: 0,
      memoryMap: {
        'hugepages-1Gi': table(2 * GiB, 0, 2 * GiB),
        'hugepages-2Mi': table(GiB, 2 ** 21, GiB - 2 ** 21),
        memory: table(8 * GiB, GiB, 4 * GiB),
      },
      cells: [0],
    },
    2: { numberOfAssignments: 0, memoryMap: { memory: table(8 * GiB, GiB / 2, 7.5 * GiB) }, cells: [2] },
  });
});

test('nothing is allocatable where more is reserved than there is', () => {
  const state = initialMachineState(
    { nodes: [aNode(0, 2, [large]), aNode(1, 8, [small])] },
    parseAmounts({ memory: '1Gi', 'hugepages-2Mi': '2Gi' }),
    [
      { numaNode: 0, limits: { memory: '1Gi' } },
      { numaNode: 1, limits: { 'hugepages-2Mi': '2Gi' } },
    ],
  );
  expect(state['0']?.memoryMap['memory']).toMatchObject({ allocatable: 0, free: 0 });
  expect(state['1']?.memoryMap['hugepages-2Mi']).toMatchObject({ allocatable: 0, free: 0 });
});

describe('refuses with upstream’s text', () => {
  const on0 = (limits: MemoryReservation['limits']): readonly MemoryReservation[] => [
    { numaNode: 0, limits },
  ];
  const cases = [
    [
      'a NUMA node that does not exist',
      { memory: '1Gi' },
      [{ numaNode: 7, limits: { memory: '1Gi' } }],
      'the reserved memory configuration references a NUMA node 7 that does not exist on this machine',
    ],
    [
      'a sum that differs from node allocatable’s',
      { memory: '1.5Gi' },
      [{ numaNode: 1, limits: { memory: '512Mi' } }, ...on0({ memory: '256Mi' })],
      'the total amount "768Mi" of type "memory" is not equal to the value "1536Mi" determined by Node Allocatable feature',
    ],
    [
      'no reserved memory',
      { memory: '100Mi' },
      [],
      'the total amount "0" of type "memory" is not equal to the value "100Mi" determined by Node Allocatable feature',
    ],
    [
      'huge pages that node allocatable does not reserve',
      { memory: '1Gi' },
      on0({ memory: '1Gi', 'hugepages-2Mi': '4Mi' }),
      'the total amount "4Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
    ],
    ['no reservation at all', {}, [], '[memorymanager] you should specify the system reserved memory'],
    [
      'a fraction of a byte',
      { memory: '1500m' },
      on0({ memory: '1500m' }),
      'could not covert a variable of type Quantity to int64',
    ],
  ] as const;
  for (const [name, reservation, reservations, message] of cases)
    test(name, () => {
      const nodes = [aNode(0, 8), aNode(1, 8)];
      expect(() => initialMachineState({ nodes }, parseAmounts(reservation), reservations)).toThrow(message);
    });
});
