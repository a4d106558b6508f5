import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { type GraceGroup, graceGroups, groupIndexOf, type ShutdownPeriods } from './grace-groups.ts';

const off: ShutdownPeriods = { byPriority: [], totalMs: 0, criticalMs: 0 };
const group = (priority: number, seconds: number): GraceGroup => ({ priority, seconds });
const critical = 2_000_000_000;

describe('graceGroups', () => {
  const cases: readonly (readonly [string, Partial<ShutdownPeriods>, readonly GraceGroup[]])[] = [
    ['nothing configured → no groups', {}, []],
    [
      'two periods → critical pods last',
      { totalMs: 30_000, criticalMs: 10_000 },
      [group(0, 20), group(critical, 10)],
    ],
    [
      'all of the period for critical pods',
      { totalMs: 5_000, criticalMs: 5_000 },
      [group(0, 0), group(critical, 5)],
    ],
    ['no period for critical pods', { totalMs: 5_000 }, [group(0, 5), group(critical, 0)]],
    [
      'fractions of a second are dropped',
      { totalMs: 5_900, criticalMs: 1_500 },
      [group(0, 4), group(critical, 1)],
    ],
    ['critical period longer than the whole → no groups', { totalMs: 1_000, criticalMs: 2_000 }, []],
    ['only a critical period → no groups', { criticalMs: 2_000 }, []],
    [
      'by priority → sorted',
      { byPriority: [group(100, 3), group(-5, 1), group(0, 2)] },
      [group(-5, 1), group(0, 2), group(100, 3)],
    ],
    ['a negative period → none', { byPriority: [group(0, -5), group(100, 3)] }, [group(0, 0), group(100, 3)]],
    ['by priority wins over the periods', { byPriority: [group(7, 3)], totalMs: 9_000 }, [group(7, 3)]],
  ];
  test.each(cases)('%s', (_name, periods, want) => {
    expect(graceGroups({ ...off, ...periods })).toEqual(want);
  });
});

describe('groupIndexOf', () => {
  const groups = [group(-10, 1), group(0, 1), group(1_000, 1), group(critical, 1)];
  const cases: readonly (readonly [priority: number | undefined, index: number])[] = [
    [-11, 0],
    [-10, 0],
    [-1, 0],
    [0, 1],
    [undefined, 1],
    [999, 1],
    [1_000, 2],
    [critical - 1, 2],
    [critical, 3],
    [critical + 1_000, 3],
  ];
  test.each(cases)('priority %s → group %i', (priority, index) => {
    expect(groupIndexOf(aPod(priority === undefined ? {} : { priority }), groups)).toBe(index);
  });
});
