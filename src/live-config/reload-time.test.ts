import { expect, test } from 'vitest';
import { computeReloadTime, type ReloadView } from './reload-time.ts';

const base: ReloadView = {
  firstChangeMs: undefined,
  lastChangeMs: 0,
  isRequested: false,
  lastLoadMs: 10_000,
};

const cases: readonly (readonly [string, Partial<ReloadView>, number])[] = [
  ['no change: a slow recheck', {}, 40_000],
  [
    'a change long after the last load: after a pause',
    { firstChangeMs: 20_000, lastChangeMs: 20_000 },
    20_300,
  ],
  ['further changes postpone the load', { firstChangeMs: 20_000, lastChangeMs: 20_200 }, 20_500],
  [
    'changes without a pause do not postpone it forever',
    { firstChangeMs: 20_000, lastChangeMs: 24_950 },
    25_000,
  ],
  ['a change right after a load waits', { firstChangeMs: 10_001, lastChangeMs: 10_001 }, 11_000],
  [
    'a request does not wait for a pause',
    { isRequested: true, firstChangeMs: 20_000, lastChangeMs: 20_000 },
    11_000,
  ],
];

test.each(cases)('computeReloadTime: %s', (_, view, want) => {
  expect(computeReloadTime({ ...base, ...view })).toBe(want);
});
