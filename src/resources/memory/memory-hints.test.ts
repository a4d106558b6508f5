import { describe, expect, test } from 'vitest';
import { aNumaMachine, GiB } from '../../../test/builders/memory-manager.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { NumaNodes } from '../topology/numa-nodes.ts';
import { releaseBlocks, reserveBlock } from './memory-blocks.ts';
import {
  bestMemoryHint,
  computeMemoryHints,
  extendMemoryHint,
  hintsByType,
  hintsOfBlocks,
} from './memory-hints.ts';
import { initialMachineState } from './memory-machine.ts';
import type { MachineState, MemoryBlock } from './memory-state.ts';

const machine = aNumaMachine([9, 8, 8], 1);
const numa = new NumaNodes(machine.nodes);
const nodes = { numa, masks: numa.subsets() };
const empty = initialMachineState(machine, parseAmounts({ memory: '1Gi' }), [
  { numaNode: 0, limits: { memory: '1Gi' } },
]);

function block(sizeGiB: number, ...numaAffinity: readonly number[]): MemoryBlock {
  return { numaAffinity, type: 'memory', size: sizeGiB * GiB };
}

function using(...blocks: readonly MemoryBlock[]): MachineState {
  return blocks.reduce((state, each) => reserveBlock(state, each, each.size), empty);
}

describe('computeMemoryHints', () => {
  const large = { 'hugepages-1Gi': 1 };
  const cases: readonly (readonly [string, MachineState, Record<string, number>, Record<string, boolean>])[] =
    [
      [
        'any set fits, single nodes are preferred',
        empty,
        { memory: 7 },
        { 1: true, 2: true, 3: false, 4: true, 5: false, 6: false, 7: false },
      ],
      [
        'two nodes are preferred if one is too small',
        empty,
        { memory: 8 },
        { 3: true, 5: true, 6: true, 7: false },
      ],
      ['a used node takes part in no group', using(block(1, 1)), { memory: 8 }, { 5: true }],
      ['a group takes only the same group', using(block(8, 0, 1)), { memory: 3 }, { 3: false, 4: true }],
      ['a full node does not fit', using(block(7, 0)), { memory: 1 }, { 2: true, 4: true, 6: false }],
      [
        'every resource must fit',
        empty,
        { memory: 1, 'hugepages-2Mi': 2 },
        { 3: true, 5: true, 6: true, 7: false },
      ],
      ['a page size that the machine lacks fits nowhere', empty, { memory: 1, ...large }, {}],
      ['too much for the machine', empty, { memory: 22 }, {}],
    ];
  for (const [name, state, gib, want] of cases)
    test(name, () => {
      const requests = new Map(Object.entries(gib).map(([type, size]) => [type, size * GiB]));
      const hints = computeMemoryHints(nodes, state, requests);
      expect(Object.fromEntries(hints.map(({ mask, preferred }) => [mask, preferred]))).toEqual(want);
      expect([...hintsByType(requests, hints).keys()]).toEqual(
        hints.length === 0 ? [] : [...requests.keys()],
      );
    });

  test('memory of ended init containers on the same nodes counts as free', () => {
    const reusable = new Map([[1, new Map([['memory', 7 * GiB]])]]);
    const hints = computeMemoryHints(nodes, using(block(7, 0)), new Map([['memory', 5 * GiB]]), reusable);
    expect(hints.map(({ mask }) => mask)).toEqual([1, 2, 4, 6]);
  });
});

test('prefers preferred hints, then fewer nodes, then lower ones', () => {
  const hint = (mask: number, preferred = false): { mask: number; preferred: boolean } => ({
    mask,
    preferred,
  });
  expect(bestMemoryHint([hint(1), hint(6, true), hint(5, true), hint(7, true)])).toEqual(hint(5, true));
  expect(bestMemoryHint([])).toBeUndefined();
  expect(extendMemoryHint([hint(1, true), hint(6), hint(7)], 4)).toEqual(hint(6));
  expect(extendMemoryHint([hint(3)], 4)).toBeUndefined();
});

describe('hintsOfBlocks', () => {
  const memory = new Map([['memory', GiB]]);
  const cases = [
    ['what the container has', [block(1, 1)], memory, [['memory', [{ mask: 2, preferred: true }]]]],
    ['another size → no preference', [block(2, 1)], memory, []],
    ['another resource → no preference', [{ ...block(1, 1), type: 'hugepages-2Mi' }], memory, []],
    ['another number → no preference', [], memory, []],
  ] as const;
  for (const [name, blocks, requests, want] of cases)
    test(name, () => expect([...hintsOfBlocks(numa, blocks, requests)]).toEqual(want));
});

describe('blocks', () => {
  const rows = (state: MachineState): readonly unknown[] =>
    Object.values(state).map(({ cells, memoryMap, numberOfAssignments }) => [
      numberOfAssignments,
      cells,
      (memoryMap['memory']?.reserved ?? 0) / GiB,
    ]);

  test('take from the first node first and are returned to it first', () => {
    const both = using(block(10, 0, 1), block(2, 0, 1));
    expect(rows(both)).toEqual([
      [2, [0, 1], 7],
      [2, [0, 1], 5],
      [0, [2], 0],
    ]);
    const one = releaseBlocks(both, [block(2, 0, 1)]);
    expect(rows(one)).toEqual([
      [1, [0, 1], 5],
      [1, [0, 1], 5],
      [0, [2], 0],
    ]);
    expect(releaseBlocks(one, [block(10, 0, 1)])).toEqual(empty);
  });

  test('return no more than was taken', () => {
    expect(releaseBlocks(empty, [block(3, 0, 1)])).toEqual(empty);
  });
});
