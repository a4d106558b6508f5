import { expect, test } from 'vitest';
import { type Adoption, computeAdoption } from './decide-adoption.ts';

const live = { path: 'live', applies: 'now' } as const;
const pods = { path: 'pods', applies: 'new-pods' } as const;
const fixed = { path: 'fixed', applies: 'restart' } as const;
type Input = Parameters<typeof computeAdoption>[0];
const base: Input = {
  changes: [live],
  isPartlyApplicable: true,
  fault: undefined,
  mode: 'Restart',
  isStarting: false,
};

const cases: readonly (readonly [string, Partial<Input>, Adoption])[] = [
  ['no change', { changes: [] }, { do: 'nothing' }],
  ['no change while the kubelet starts', { changes: [], isStarting: true }, { do: 'nothing' }],
  [
    'changes that need no restart',
    { changes: [live, pods] },
    { do: 'apply', now: ['live', 'pods'], pending: [] },
  ],
  [
    'a change while the kubelet starts, with Apply too',
    { mode: 'Apply', isStarting: true },
    { do: 'restart' },
  ],
  ['one that needs a restart', { changes: [live, fixed] }, { do: 'restart' }],
  [
    'one that needs a restart, with Apply',
    { changes: [live, fixed], mode: 'Apply' },
    { do: 'apply', now: ['live'], pending: ['fixed'] },
  ],
  [
    'the same if the rest is invalid alone',
    { changes: [live, fixed], mode: 'Apply', isPartlyApplicable: false },
    { do: 'apply', now: [], pending: ['live', 'fixed'] },
  ],
  ['what the machine cannot hold', { fault: 'too much' }, { do: 'reject', fault: 'too much' }],
  [
    'the same with a restart, whose start finds it',
    { changes: [live, fixed], fault: 'too much' },
    { do: 'restart' },
  ],
  ['the same while the kubelet starts', { fault: 'too much', isStarting: true }, { do: 'restart' }],
  [
    'the same with Apply and a change that waits',
    { changes: [live, fixed], mode: 'Apply', fault: 'too much', isPartlyApplicable: false },
    { do: 'apply', now: [], pending: ['live', 'fixed'] },
  ],
];

test.each(cases)('%s', (_, input, want) => {
  expect(computeAdoption({ ...base, ...input })).toEqual(want);
});
