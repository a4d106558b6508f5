// Every combination of kind, result, previous run and threshold.
import { describe, expect, test } from 'vitest';
import type { ProbeKind } from '../api/ports/probe-results.ts';
import { type Counted, countResult, noResultRun, type ResultRun } from './count-result.ts';

const kinds: readonly ProbeKind[] = ['liveness', 'readiness', 'startup'];
const results: readonly Counted[] = ['success', 'failure'];

/** The results published over a sequence, a dot for none; `!` marks that probing stopped. */
function play(kind: ProbeKind, sequence: string, successThreshold: number, failureThreshold: number): string {
  let run: ResultRun = noResultRun;
  let published = '';
  for (const letter of sequence) {
    const result = letter === 's' ? 'success' : 'failure';
    const step = countResult(kind, run, result, { successThreshold, failureThreshold });
    run = step.run;
    published += step.publish === undefined ? '.' : step.publish === 'success' ? 's' : 'f';
    if (step.hold) return `${published}!`;
  }
  return published;
}

describe('countResult: one result after a run', () => {
  for (const kind of kinds)
    for (const result of results)
      for (const last of [undefined, ...results])
        for (const length of [0, 1, 2, 3])
          for (const threshold of [1, 2, 3, 4]) {
            if (last === undefined && length > 0) continue;
            const name = `${kind}: ${result} after ${length} × ${last}, threshold ${threshold}`;
            test(name, () => {
              const thresholds = {
                successThreshold: 9,
                failureThreshold: 9,
                [`${result}Threshold`]: threshold,
              };
              const step = countResult(kind, { last, length }, result, thresholds);
              const inARow = last === result ? length + 1 : 1;
              const reached = inARow >= threshold;
              const holds = reached && (kind === 'startup' || (kind === 'liveness' && result === 'failure'));
              expect(step).toEqual({
                run: { last: result, length: holds ? 0 : inARow },
                publish: reached ? result : undefined,
                hold: holds,
              });
            });
          }
});

describe('countResult: sequences', () => {
  const cases: readonly (readonly [ProbeKind, string, number, number, string])[] = [
    ['readiness', 'ffsfff', 1, 3, '..s..f'],
    ['readiness', 'ssfs', 2, 1, '.sf.'],
    ['readiness', 'sssfffsss', 1, 2, 'sss.ffsss'],
    ['readiness', 'sfsfsf', 2, 2, '......'],
    ['liveness', 'sffsfff', 1, 3, 's..s..f!'],
    ['liveness', 'f', 1, 1, 'f!'],
    ['startup', 'fffs', 1, 30, '...s!'],
    ['startup', 'fff', 1, 3, '..f!'],
    ['startup', 's', 1, 3, 's!'],
  ];
  for (const [kind, sequence, success, failure, want] of cases) {
    test(`${kind} ${sequence} with ${success}/${failure} → ${want}`, () => {
      expect(play(kind, sequence, success, failure)).toBe(want);
    });
  }
});
