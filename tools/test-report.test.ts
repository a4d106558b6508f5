import { describe, expect, test } from 'vitest';
import { filesToRerun, parseReport, settle } from './test-report.ts';

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
  test('yields the counts and the names of failed tests', () =>
    expect(parseReport(reportOf({ a: { x: 'passed', y: 'failed' }, b: { z: 'pending' } }))).toEqual({
      counts: { passed: 1, failed: 1, skipped: 1 },
      failedFiles: ['a'],
      failedTests: ['y'],
    }));

  test('counts a file that fails to load as a failure', () =>
    expect(parseReport(reportOf({ a: {}, b: { z: 'passed' } }))).toEqual({
      counts: { passed: 1, failed: 1, skipped: 0 },
      failedFiles: ['a'],
      failedTests: ['a'],
    }));

  for (const [name, text] of [
    ['missing', undefined],
    ['truncated', '{"numPassed'],
  ] as const) {
    test(`counts as one failure if it is ${name}`, () => expect(parseReport(text).counts.failed).toBe(1));
  }

  test('yields no files to rerun when many failed', () => {
    const files = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [name, { [name]: 'failed' as const }]),
    );
    expect(filesToRerun(parseReport(reportOf(files)))).toEqual([]);
    expect(filesToRerun(parseReport(reportOf({ a: { x: 'failed' } })))).toEqual(['a']);
  });
});

describe('a rerun of the failed files', () => {
  const first = parseReport(reportOf({ a: { x: 'passed', y: 'failed' }, b: { z: 'passed' } }));

  test('reports a test that passes now as flaky, and the run as good', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'passed', y: 'passed' } })))).toEqual({
      counts: { passed: 3, failed: 0, skipped: 0 },
      flaky: ['y'],
    }));

  test('fails the run if the test fails again', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'passed', y: 'failed' } })))).toEqual({
      counts: { passed: 2, failed: 1, skipped: 0 },
      flaky: [],
    }));

  test('fails the run if another test fails', () =>
    expect(settle(first, parseReport(reportOf({ a: { x: 'failed', y: 'passed' } })))).toEqual({
      counts: { passed: 3, failed: 1, skipped: 0 },
      flaky: ['y'],
    }));

  test('fails the run if it ran nothing', () =>
    expect(settle(first, parseReport(undefined)).counts.failed).toBeGreaterThan(0));
});
