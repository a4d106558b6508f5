// Reads the JSON reports of vitest: counts, failed files, and the result after a rerun of those files. Pure.
// Invariant: a test that fails twice has failed; a test that fails once and then passes is reported as flaky, never as good.

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface TestReport {
  readonly counts: Counts;
  /** Absolute paths. */
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

/** A missing or truncated report counts as one failure: the runner crashed before it wrote the report. */
export function parseReport(text: string | undefined): TestReport {
  const raw = parse(text);
  if (raw === undefined)
    return { counts: { passed: 0, failed: 1, skipped: 0 }, failedFiles: [], failedTests: [] };
  const broken = (raw.testResults ?? []).filter(({ status }) => status === 'failed');
  const tests = broken.flatMap(({ name = '', assertionResults = [] }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    // A file that fails to load has no failed test.
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

/** More failed files than this are not flakiness, and a rerun only takes time. */
const maxRerunFiles = 3;

export function filesToRerun(report: TestReport): readonly string[] {
  return report.failedFiles.length <= maxRerunFiles ? report.failedFiles : [];
}

interface Settled {
  readonly counts: Counts;
  /** Failed in the first run and not in the second. */
  readonly flaky: readonly string[];
}

/** The result of a run whose failed files were rerun once. */
export function settle(first: TestReport, rerun: TestReport): Settled {
  const stillFailed = new Set(rerun.failedTests);
  const flaky = rerun.counts.passed === 0 ? [] : first.failedTests.filter((name) => !stillFailed.has(name));
  // A test that failed only in the rerun is a failure, too.
  const failed = first.counts.failed - flaky.length + newFailures(first, rerun);
  return { counts: { ...first.counts, passed: first.counts.passed + flaky.length, failed }, flaky };
}

function newFailures(first: TestReport, rerun: TestReport): number {
  const known = new Set(first.failedTests);
  return rerun.failedTests.filter((name) => !known.has(name)).length;
}
