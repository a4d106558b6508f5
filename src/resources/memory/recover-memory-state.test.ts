import { describe, expect, test } from 'vitest';
import { aNumaMachine, GiB } from '../../../test/builders/memory-manager.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { initialMachineState } from './memory-machine.ts';
import type { MachineState, MemoryBlock, MemoryState } from './memory-state.ts';
import { recoverMemoryState } from './recover-memory-state.ts';
import { computeRecoveryReport } from './recovery-report.ts';

function machineOf(memoryGiB: readonly number[], reserved = '1Gi'): MachineState {
  const amounts = { memory: reserved };
  const reservations = [{ numaNode: 0, limits: amounts }];
  return initialMachineState(aNumaMachine(memoryGiB), parseAmounts(amounts), reservations);
}

function block(size: number, ...numaAffinity: readonly number[]): MemoryBlock {
  return { numaAffinity, type: 'memory', size: size * GiB };
}

const two = machineOf([8, 8]);

/** A file whose machine state was computed from its entries. */
function stateOf(entries: MemoryState['entries'], machine = two): MemoryState {
  const { assigned } = recoverMemoryState('Static', machine, {
    policyName: 'Static',
    machineState: machine,
    entries,
  });
  return { policyName: 'Static', ...assigned };
}

const pods = { a: { c: [block(5, 0)] }, b: { c: [block(6, 1)], d: [block(1, 1)] } };
const changed = 'the memory of the machine or its reservation has changed';
const mismatch = 'its state of the machine does not match its assignments';

describe('recoverMemoryState', () => {
  const saved = stateOf(pods);
  const cases: readonly (readonly [
    string,
    MachineState,
    MemoryState,
    string | undefined,
    readonly string[],
  ])[] = [
    ['the same machine → as it is', two, saved, undefined, []],
    ['more memory → all kept', machineOf([9, 8]), saved, changed, []],
    ['another reservation → all kept', machineOf([8, 8], '2Gi'), saved, changed, []],
    ['less memory → what no longer fits is dropped', machineOf([8, 6]), saved, changed, ['b/d']],
    ['a node vanished → its containers are dropped', machineOf([8]), saved, changed, ['b/c', 'b/d']],
    ['wrong sums → recomputed', two, { ...saved, machineState: two }, mismatch, []],
    ['no machine state → recomputed', two, { ...saved, machineState: {} }, changed, []],
    [
      'twice the memory of a node → dropped',
      two,
      { ...saved, entries: { a: { c: [block(5, 0)], d: [block(5, 0)] } } },
      mismatch,
      ['a/d'],
    ],
    [
      'a negative size → dropped',
      two,
      { ...saved, entries: { a: { c: [block(-1, 0)] } } },
      mismatch,
      ['a/c'],
    ],
    ['no nodes → dropped', two, { ...saved, entries: { a: { c: [block(1)] } } }, mismatch, ['a/c']],
    ['a node twice → dropped', two, { ...saved, entries: { a: { c: [block(1, 0, 0)] } } }, mismatch, ['a/c']],
    [
      'an unknown resource → dropped',
      two,
      { ...saved, entries: { a: { c: [{ ...block(1, 0), type: 'toString' }] } } },
      mismatch,
      ['a/c'],
    ],
  ];
  for (const [name, machine, state, why, dropped] of cases)
    test(name, () => {
      const found = recoverMemoryState('Static', machine, state);
      expect(found.why).toBe(why);
      expect(found.dropped.map(({ container, uid }) => `${uid}/${container}`)).toEqual(dropped);
      const again = recoverMemoryState('Static', machine, { policyName: 'Static', ...found.assigned });
      expect(again).toEqual({ ...found, why: undefined, dropped: [] });
    });

  test('a container on one node keeps its memory although another spans that node', () => {
    const entries = { a: { wide: [block(8, 0, 1)] }, b: { narrow: [block(6, 0)] } };
    expect(
      recoverMemoryState('Static', two, { policyName: 'Static', machineState: {}, entries }).dropped,
    ).toEqual([]);
  });

  test('with None nothing is assigned', () => {
    expect(recoverMemoryState('None', {}, saved)).toMatchObject({
      assigned: { machineState: {}, entries: {} },
      why: 'configured policy "None" differs from state checkpoint policy "Static"',
    });
  });
});

describe('computeRecoveryReport', () => {
  const nothing = {
    path: '/s',
    fault: undefined,
    why: undefined,
    isLost: false,
    hasEntries: false,
    dropped: [],
    running: [],
  };
  const fault = { path: '/s', why: 'it is not JSON', setAside: '/.s.damaged', usedPrevious: false };
  const prefix = 'Recovered the state of the memory manager, /s:';
  const many = Array.from({ length: 12 }, (_, at) => `ns/p${at + 10}`);
  const cases = [
    ['nothing happened → no report', {}, undefined],
    ['another machine without assignments → no event', { why: 'w' }, { why: 'w', message: undefined }],
    [
      'another machine with assignments',
      { why: 'w', hasEntries: true },
      { why: 'w', message: `${prefix} w.` },
    ],
    [
      'a damaged file',
      { fault },
      { why: 'it is not JSON', message: `${prefix} it is not JSON. The damaged file is now /.s.damaged.` },
    ],
    [
      'many pods → the first ten are named, each once',
      { why: 'w', running: [...many, ...many] },
      {
        why: 'w',
        message: `${prefix} w. Running containers keep their NUMA nodes; the policy applies after their restart to pods: ${many.slice(0, 10).join(', ')} and 2 more.`,
      },
    ],
  ] as const;
  for (const [name, over, want] of cases)
    test(name, () => expect(computeRecoveryReport({ ...nothing, ...over })).toEqual(want));
});
