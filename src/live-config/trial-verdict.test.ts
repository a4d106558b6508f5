import { expect, test } from 'vitest';
import { computeStopVerdict, computeVerdict, type TrialVerdict, type TrialView } from './trial-verdict.ts';

const base: TrialView = { periodMs: 120_000, elapsedMs: 1_000, startingForMs: undefined, symptom: undefined };
const symptom = (forMs: number): TrialView['symptom'] => ({ reason: 'the runtime is gone', forMs });
const undecided: TrialVerdict = { kind: 'undecided' };
const gone: TrialVerdict = { kind: 'bad', reason: 'the runtime is gone' };

const cases: readonly (readonly [string, Partial<TrialView>, TrialVerdict])[] = [
  ['healthy and young → undecided', {}, undecided],
  ['healthy to the end → good', { elapsedMs: 120_000 }, { kind: 'good' }],
  ['starting → undecided', { elapsedMs: 59_000, startingForMs: 59_000 }, undecided],
  [
    'starting for half of the period → bad',
    { elapsedMs: 60_000, startingForMs: 60_000 },
    { kind: 'bad', reason: 'the kubelet did not start within 60 s' },
  ],
  [
    'a short period is the limit of a start as a whole → undecided',
    { periodMs: 6_000, elapsedMs: 5_000, startingForMs: 5_000 },
    undecided,
  ],
  [
    'still starting at the end → bad, however short',
    { elapsedMs: 120_000, startingForMs: 2_000 },
    { kind: 'bad', reason: 'the kubelet did not start within 2 s' },
  ],
  [
    'a long period: starting for five minutes → bad',
    { periodMs: 86_400_000, elapsedMs: 300_000, startingForMs: 300_000 },
    { kind: 'bad', reason: 'the kubelet did not start within 300 s' },
  ],
  [
    'a long period: a symptom for five minutes → bad',
    { periodMs: 86_400_000, symptom: symptom(300_000) },
    gone,
  ],
  [
    'a long period: a symptom for less → undecided',
    { periodMs: 86_400_000, symptom: symptom(299_000) },
    undecided,
  ],
  ['a symptom that just appeared → undecided', { symptom: symptom(0) }, undecided],
  ['a symptom for almost a third → undecided', { elapsedMs: 50_000, symptom: symptom(39_999) }, undecided],
  ['a symptom for a third → bad', { elapsedMs: 50_000, symptom: symptom(40_000) }, gone],
  ['a symptom at the end → bad, however short', { elapsedMs: 120_000, symptom: symptom(0) }, gone],
];

test.each(cases)('computeVerdict: %s', (_, view, want) => {
  expect(computeVerdict({ ...base, ...view })).toEqual(want);
});

test.each([
  ['has started', undefined, undefined],
  ['has just begun to start', 9_999, undefined],
  ['hangs', 12_000, 'the kubelet was stopped when it had not started within 12 s'],
])('computeStopVerdict: a kubelet that %s', (_, startingForMs, want) => {
  expect(computeStopVerdict(startingForMs)).toBe(want);
});
