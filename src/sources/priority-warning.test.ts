import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { priorityWarning } from './priority-warning.ts';

const cases = [
  ['nothing', {}, undefined],
  ['a class alone', { priorityClassName: 'system-node-critical' }, 'nil priority'],
  ['a priority alone', { priority: 2_000_001_000 }, 'priority without priorityClassName'],
  ['a priority of zero alone', { priority: 0 }, 'priority without priorityClassName'],
  [
    'those of a node-critical pod',
    { priority: 2_000_001_000, priorityClassName: 'system-node-critical' },
    undefined,
  ],
  [
    'another priority',
    { priority: 5, priorityClassName: 'system-node-critical' },
    'a priority other than 2000001000',
  ],
  [
    'another class',
    { priority: 2_000_001_000, priorityClassName: 'mine' },
    'other than system-node-critical',
  ],
] as const;

for (const [name, spec, want] of cases)
  test(`priorityWarning: ${name} → ${want ?? 'none'}`, () => {
    const warning = priorityWarning(aPod(spec));
    if (want === undefined) expect(warning).toBeUndefined();
    else expect(warning).toContain(want);
  });
