import { describe, expect, test } from 'vitest';
import { filesToRunAgain, parseReport, settle } from './test-report.ts';

type Outcomes = Readonly<Record<string, Readonly<Record<string, 'passed' | 'failed' | 'pending'>>>>;

function reportOf(files: Outcomes): string {
  const states = Object.values(files).flatMap((each) => Object.values(each));
  const count = (state: string): number => states.filter((each) => each === state).length;
  return JSON.stringify({
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending'),
    testResults: Object.entries(files).map(([name, tests]) => ({
      name,
      status:
        Object.values(tests).includes('failed') || Object.keys(tests).length === 0 ? 'failed' : 'passed',
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    })),
  });
}

describe('a report', () => {
  test('is counted, and says what failed', () =>
    expect(parseReport(reportOf({ a: { x: 'passed', y: 'failed' }, b: { z: 'pending' } }))).toEqual({
      counts: { passed: 1, failed: 1, skipped: 1 },
      failedFiles: ['a'],
      failedTests: ['y'],
    }));

  test('a file that does not load is a failure', () =>
    expect(parseReport(reportOf({ a: {}, b: { z: 'passed' } }))).toEqual({
      counts: { passed: 1, failed: 1, skipped: 0 },
      failedFiles: ['a'],
      failedTests: ['a'],
    }));

  for (const [name, text] of [
    ['missing', undefined],
    ['cut off', '{"numPassed'],
  ] as const) {
    test(`${name}: one failure`, () => expect(parseReport(text).counts.failed).toBe(1));
  }

  test('many failed files are not run again', () => {
    const files = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [name, { [name]: 'failed' as const }]),
    );
    expect(filesToRunAgain(parseReport(reportOf(files)))).toEqual([]);
    expect(filesToRunAgain(parseReport(reportOf({ a: { x: 'failed' } })))).toEqual(['a']);
  });
});

describe('a second run of the failed files', () => {
  const first = parseReport(reportOf({ a: { x: 'passed', y: 'failed' }, b: { z: 'passed' } }));

  test('passes: the test is named as unsteady and the run is good', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'passed', y: 'passed' } })))).toEqual({
      counts: { passed: 3, failed: 0, skipped: 0 },
      unsteady: ['y'],
    }));

  test('fails again: the run has failed', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'passed', y: 'failed' } })))).toEqual({
      counts: { passed: 2, failed: 1, skipped: 0 },
      unsteady: [],
    }));

  test('another test fails: the run has failed', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'failed', y: 'passed' } })))).toEqual({
      counts: { passed: 3, failed: 1, skipped: 0 },
      unsteady: ['y'],
    }));

  test('runs nothing: the run has failed', () =>
    expect(settle(first, parseReport(undefined)).counts.failed).toBeGreaterThan(0));
});
