import { describe, expect, test } from 'vitest';
import { chooseUid, isComputedUid } from './choose-uid.ts';

describe('chooseUid', () => {
  // The name of the case, what runs, what else is present, the chosen UID.
  const cases = [
    ['a new pod gets the current UID', [], [], 'now'],
    ['pods of other manifests do not matter', ['other'], ['another'], 'now'],
    ['a running pod keeps the current UID', ['now'], [], 'now'],
    ['a pod that runs under an earlier UID keeps it', ['v34'], [], 'v34'],
    ['a pod that an earlier release left down keeps its UID', [], ['v35'], 'v35'],
    ['the running pod wins over the leftover of the current UID', ['v34'], ['now'], 'v34'],
    ['the running pod wins over the leftover of an earlier UID', ['now'], ['v34'], 'now'],
    ['of two leftovers the current UID wins', [], ['v34', 'now'], 'now'],
    ['of two earlier leftovers the newer release wins', [], ['v34', 'v35'], 'v35'],
    ['of two running pods the current UID wins', ['v34', 'now'], [], 'now'],
  ] as const;
  for (const [name, running, present, want] of cases)
    test(name, () => expect(chooseUid('now', () => ['v35', 'v34'], { running, present })).toBe(want));

  test('computes earlier UIDs only if the answer may depend on them', () => {
    const never = (): never => {
      throw new Error('not expected');
    };
    expect(chooseUid('now', never, undefined)).toBe('now');
    expect(chooseUid('now', never, { running: [], present: [] })).toBe('now');
    expect(chooseUid('now', never, { running: ['now', 'other'], present: ['third'] })).toBe('now');
  });
});

test('isComputedUid', () => {
  expect(isComputedUid('324fb940212c8a7ced6f5dfd86b08693')).toBe(true);
  expect(isComputedUid('4eb98642-330a-4095-9757-57e9b8835e73')).toBe(false);
});
