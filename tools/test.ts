// The command behind `make test`. Runs every step even if an earlier one failed, so that one run reports every failure, and
// ends with the sum over the unit and integration tests. A failed test file is rerun once by itself; a test that passes then
// is listed as flaky (docs/decisions/0004).
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type Counts, filesToRerun, parseReport, settle } from './test-report.ts';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** The step that this one depends on; if that failed, this one is not run. */
  readonly after?: string;
  /** The vitest configuration of a step that runs tests and writes dist/reports/<name>.json. */
  readonly tests?: string;
  /** The name of that report, if it is not the step's. */
  readonly report?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The exit code of a step that cannot run on this machine, which is no failure. */
  readonly skippedCode?: number;
}

const make = (target: string): readonly [string, ...string[]] => ['make', '--no-print-directory', target];

const releaseDependent = ['runtime-features', 'replay', 'replay-cluster'].map(
  (name) => `integration/${name}.test.ts`,
);

const steps: readonly Step[] = [
  { name: 'static', command: make('static') },
  { name: 'audit', command: ['node', 'tools/run-ts.mjs', 'tools/audit.ts'], skippedCode: 75 },
  { name: 'unit', command: make('unit'), tests: 'vitest.config.ts' },
  { name: 'build', command: make('build') },
  {
    name: 'integration',
    command: make('integration'),
    after: 'build',
    tests: 'vitest.integration.config.ts',
  },
  // The few files that depend on the release of containerd; `make test-runtimes` runs all of them.
  {
    name: 'runtimes',
    command: ['node', 'tools/run-ts.mjs', 'tools/test-runtimes.ts', '2', ...releaseDependent],
    after: 'build',
    tests: 'vitest.integration.config.ts',
    report: 'runtime-2',
    env: { RIG_CONTAINERD: '2' },
    skippedCode: 75,
  },
  { name: 'bench', command: ['node', 'tools/run-ts.mjs', 'bench/pod-start.ts', '--smoke'], after: 'build' },
];

const reportOf = (name: string): string => `dist/reports/${name}.json`;

function readReport(name: string): ReturnType<typeof parseReport> {
  try {
    return parseReport(readFileSync(reportOf(name), 'utf8'));
  } catch {
    return parseReport(undefined);
  }
}

function run([program, ...args]: readonly [string, ...string[]], own: Step['env'] = {}): number | null {
  const env = { ...process.env, TEST_EFFORT: 'full', ...own };
  return spawnSync(program, args, { stdio: 'inherit', env }).status;
}

interface Outcome {
  readonly ok: boolean;
  readonly skipped?: boolean;
  readonly counts: Counts;
  readonly flaky: readonly string[];
}

const noTests: Counts = { passed: 0, failed: 0, skipped: 0 };

function runStep(step: Step): Outcome {
  const status = run(step.command, step.env);
  const ok = status === 0;
  if (status !== null && status === step.skippedCode)
    return { ok: true, skipped: true, counts: { ...noTests, skipped: 1 }, flaky: [] };
  if (step.tests === undefined) return { ok, counts: noTests, flaky: [] };
  const first = readReport(step.report ?? step.name);
  const files = filesToRerun(first);
  if (ok || files.length === 0) return { ok, counts: first.counts, flaky: [] };
  console.log(`── ${step.name}: rerunning the failed files by themselves: ${files.join(', ')} ──`);
  const rerun = `${step.name}-rerun`;
  const command = [
    'node_modules/.bin/vitest',
    'run',
    '--config',
    step.tests,
    '--reporter=verbose',
    '--reporter=json',
    `--outputFile.json=${reportOf(rerun)}`,
    ...files,
  ] as const;
  run(command, step.env);
  const { counts, flaky } = settle(first, readReport(rerun));
  return { ok: counts.failed === 0, counts, flaky };
}

const failedSteps: string[] = [];
const flaky: string[] = [];
let sum = noTests;
rmSync('dist/reports', { recursive: true, force: true });
for (const step of steps) {
  if (step.after !== undefined && failedSteps.includes(step.after)) {
    failedSteps.push(`${step.name} (not run)`);
    if (step.tests !== undefined) sum = { ...sum, failed: sum.failed + 1 };
    continue;
  }
  console.log(`\n── ${step.name} ──`);
  const startedMs = performance.now();
  const outcome = runStep(step);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const result = outcome.skipped === true ? 'skipped' : outcome.ok ? 'ok' : 'FAILED';
  console.log(`── ${step.name}: ${result} in ${seconds} s ──`);
  if (!outcome.ok) failedSteps.push(step.name);
  flaky.push(...outcome.flaky);
  sum = {
    passed: sum.passed + outcome.counts.passed,
    failed: sum.failed + outcome.counts.failed,
    skipped: sum.skipped + outcome.counts.skipped,
  };
}
for (const name of flaky) console.log(`flaky, to be fixed: ${name}`);
if (failedSteps.length > 0) console.log(`failed: ${failedSteps.join(', ')}`);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = failedSteps.length > 0 || sum.failed > 0 ? 1 : 0;
