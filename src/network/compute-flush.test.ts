import { expect, test } from 'vitest';
import { type CanaryState, computeFlush, type Flush } from './compute-flush.ts';

const [here, gone, unknown] = ['present', 'absent', 'unknown'] as const;

const cases: readonly (readonly [string, readonly CanaryState[], number, Flush])[] = [
  ['all canaries are present', [here, here, here], 0, 'none'],
  ['every check failed', [unknown, unknown, unknown], 0, 'none'],
  ['some checks failed', [here, unknown, here], 10_000, 'none'],
  ['all tables were flushed', [gone, gone, gone], 0, 'complete'],
  ['only mangle was flushed so far', [gone, here, here], 0, 'in-progress'],
  ['only filter was flushed so far', [here, here, gone], 4_999, 'in-progress'],
  ['one check failed during a flush', [gone, unknown, gone], 100, 'in-progress'],
  ['only mangle was flushed, 5 s ago', [gone, here, here], 5_000, 'partial'],
  ['one check failed for 5 s during a flush', [gone, unknown, gone], 5_000, 'partial'],
  ['the last table was flushed late', [gone, gone, gone], 5_000, 'complete'],
];

for (const [name, canaries, waitedMs, flush] of cases)
  test(`computeFlush: ${name} → ${flush}`, () => expect(computeFlush(canaries, waitedMs)).toBe(flush));
