import { describe, expect, test } from 'vitest';
import { type GraceGroup, totalSeconds } from './grace-groups.ts';
import { fitGroups, planShutdown } from './plan-shutdown.ts';

const groupsOf = (seconds: readonly number[]): readonly GraceGroup[] =>
  seconds.map((each, index) => ({ priority: index * 1_000, seconds: each }));
const secondsOf = (groups: readonly GraceGroup[]): readonly number[] => groups.map(({ seconds }) => seconds);

describe('fitGroups', () => {
  const cases: readonly (readonly [string, readonly number[], number, readonly number[]])[] = [
    ['fits exactly', [20, 10], 30, [20, 10]],
    ['no limit', [20, 10], Number.POSITIVE_INFINITY, [20, 10]],
    ["logind's default of 5 s", [20, 10], 5, [3, 2]],
    ['a fraction of a second counts as none', [20, 10], 5.9, [3, 2]],
    ['the rest goes to the highest priority', [10, 10, 10], 5, [1, 2, 2]],
    ['fewer seconds than groups', [10, 10, 10], 2, [0, 1, 1]],
    ['a group without a period gets none', [10, 0], 5, [5, 0]],
    ['no time at all', [20, 10], 0, [0, 0]],
    ['no groups', [], 5, []],
  ];
  test.each(cases)('%s', (_name, configured, limit, want) => {
    expect(secondsOf(fitGroups(groupsOf(configured), limit))).toEqual(want);
  });

  test('never exceeds the limit or a configured period, and leaves no whole second unused', () => {
    for (let limit = 0; limit < 40; limit++)
      for (const configured of [[7, 11, 13], [1, 1, 30], [0, 5, 3, 2], [30]]) {
        const fitted = secondsOf(fitGroups(groupsOf(configured), limit));
        const sum = configured.reduce((all, each) => all + each, 0);
        expect(totalSeconds(groupsOf(fitted))).toBe(Math.min(limit, sum));
        expect(fitted.every((each, index) => each <= (configured[index] ?? 0))).toBe(true);
      }
  });
});

describe('planShutdown', () => {
  interface Case {
    readonly name: string;
    readonly seconds: readonly number[];
    readonly limit: number;
    readonly elapsed?: number;
    readonly want: readonly number[];
    readonly grace: readonly number[];
    readonly total: number;
  }
  const cases: readonly Case[] = [
    {
      name: 'the last group reserves two seconds for its statuses',
      seconds: [20, 10],
      limit: 30,
      want: [20, 10],
      grace: [20, 8],
      total: 30,
    },
    {
      name: 'a limit above the periods leaves time for the statuses',
      seconds: [20, 10],
      limit: 33,
      want: [20, 10],
      grace: [20, 10],
      total: 33,
    },
    {
      name: 'an unlimited delay is used for five seconds more',
      seconds: [20, 10],
      limit: Number.POSITIVE_INFINITY,
      want: [20, 10],
      grace: [20, 10],
      total: 35,
    },
    {
      name: 'one spare second shortens the reserve',
      seconds: [20, 10],
      limit: 31,
      want: [20, 10],
      grace: [20, 9],
      total: 31,
    },
    {
      name: 'a short last group reserves nothing',
      seconds: [9, 3],
      limit: 12,
      want: [9, 3],
      grace: [9, 3],
      total: 12,
    },
    {
      name: 'a last group without a period leaves the reserve to the one before it',
      seconds: [30, 0],
      limit: 30,
      want: [30, 0],
      grace: [28, 0],
      total: 30,
    },
    {
      name: 'periods that do not fit shrink first',
      seconds: [20, 20],
      limit: 10,
      want: [5, 5],
      grace: [5, 4],
      total: 10,
    },
    {
      name: 'the time that has passed is taken from the first groups',
      seconds: [20, 10],
      limit: 30,
      elapsed: 22,
      want: [0, 8],
      grace: [0, 6],
      total: 8,
    },
    {
      name: 'all the time has passed',
      seconds: [20, 10],
      limit: 30,
      elapsed: 99,
      want: [0, 0],
      grace: [0, 0],
      total: 0,
    },
  ];
  test.each(cases)('$name', ({ elapsed = 0, grace, limit, seconds, total, want }) => {
    const plan = planShutdown({ groups: groupsOf(seconds), limitSeconds: limit, elapsedSeconds: elapsed });
    expect(secondsOf(plan.groups)).toEqual(want);
    expect(plan.groups.map(({ graceSeconds }) => graceSeconds)).toEqual(grace);
    expect(plan.totalSeconds).toBe(total);
  });
});
