// What the test runner's reports say: counts, which files failed, and what a second run of those files makes of it. Pure.
// Invariant: a test that fails twice has failed; one that fails once and then passes is named, never silently counted as good.

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface TestReport {
  readonly counts: Counts;
  /** As the runner names them: absolute paths. */
  readonly failedFiles: readonly string[];
  readonly failedTests: readonly string[];
}

interface RawFile {
  readonly name?: string;
  readonly status?: string;
  readonly assertionResults?: readonly { readonly fullName?: string; readonly status?: string }[];
}

interface RawReport {
  readonly numPassedTests?: number;
  readonly numFailedTests?: number;
  readonly numPendingTests?: number;
  readonly numTodoTests?: number;
  readonly testResults?: readonly RawFile[];
}

/** A report that is missing or broken counts as one failure: the runner did not get as far as writing it. */
export function parseReport(text: string | undefined): TestReport {
  const raw = parse(text);
  if (raw === undefined)
    return { counts: { passed: 0, failed: 1, skipped: 0 }, failedFiles: [], failedTests: [] };
  const broken = (raw.testResults ?? []).filter(({ status }) => status === 'failed');
  const tests = broken.flatMap(({ name = '', assertionResults = [] }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    // A file that does not even load has no failed test in it, yet it failed.
    return failed.length === 0 ? [name] : failed.map(({ fullName = '' }) => fullName);
  });
  return {
    counts: {
      passed: raw.numPassedTests ?? 0,
      failed: Math.max(raw.numFailedTests ?? 0, tests.length),
      skipped: (raw.numPendingTests ?? 0) + (raw.numTodoTests ?? 0),
    },
    failedFiles: broken.map(({ name = '' }) => name),
    failedTests: tests,
  };
}

function parse(text: string | undefined): RawReport | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as RawReport);
  } catch {
    return undefined;
  }
}

/** More than these at once are no chance: running them again would only take time. */
const mostFilesAgain = 3;

export function filesToRunAgain(report: TestReport): readonly string[] {
  return report.failedFiles.length <= mostFilesAgain ? report.failedFiles : [];
}

interface Settled {
  readonly counts: Counts;
  /** Failed in the first run and not in the second. */
  readonly unsteady: readonly string[];
}

/** What a run comes to when its failed files were run once more. */
export function settle(first: TestReport, again: TestReport): Settled {
  const stillFailed = new Set(again.failedTests);
  const unsteady =
    again.counts.passed === 0 ? [] : first.failedTests.filter((name) => !stillFailed.has(name));
  // A test that failed only in the second run is a failure as well.
  const failed = first.counts.failed - unsteady.length + newFailures(first, again);
  return { counts: { ...first.counts, passed: first.counts.passed + unsteady.length, failed }, unsteady };
}

function newFailures(first: TestReport, again: TestReport): number {
  const known = new Set(first.failedTests);
  return again.failedTests.filter((name) => !known.has(name)).length;
}
