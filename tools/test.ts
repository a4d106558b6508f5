// The command behind `make test`: runs every step even when an earlier one failed, so that one run tells all,
// and ends with the sum over the unit and integration tests. A test file that failed is run once more by itself; what
// passes then is named as unsteady (docs/decisions/0004).
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type Counts, filesToRunAgain, parseReport, settle } from './test-report.ts';

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** The step that must have worked before this one makes sense. */
  readonly after?: string;
  /** The runner's configuration, for steps that are tests and write dist/reports/<name>.json. */
  readonly tests?: string;
  /** The exit code by which the step reports that it could not be done here, which is no failure. */
  readonly skippedCode?: number;
}

const make = (target: string): readonly [string, ...string[]] => ['make', '--no-print-directory', target];

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

function run([program, ...args]: readonly [string, ...string[]]): number | null {
  return spawnSync(program, args, { stdio: 'inherit' }).status;
}

interface Outcome {
  readonly ok: boolean;
  readonly counts: Counts;
  readonly unsteady: readonly string[];
}

const noTests: Counts = { passed: 0, failed: 0, skipped: 0 };

function runStep(step: Step): Outcome {
  const status = run(step.command);
  const ok = status === 0;
  if (status !== null && status === step.skippedCode)
    return { ok: true, counts: { ...noTests, skipped: 1 }, unsteady: [] };
  if (step.tests === undefined) return { ok, counts: noTests, unsteady: [] };
  const first = readReport(step.name);
  const files = filesToRunAgain(first);
  if (ok || files.length === 0) return { ok, counts: first.counts, unsteady: [] };
  console.log(`── ${step.name}: once more, by themselves: ${files.join(', ')} ──`);
  const again = `${step.name}-again`;
  run([
    'node_modules/.bin/vitest',
    'run',
    '--config',
    step.tests,
    '--reporter=verbose',
    '--reporter=json',
    `--outputFile.json=${reportOf(again)}`,
    ...files,
  ]);
  const { counts, unsteady } = settle(first, readReport(again));
  return { ok: counts.failed === 0, counts, unsteady };
}

const failedSteps: string[] = [];
const unsteady: string[] = [];
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
  console.log(`── ${step.name}: ${outcome.ok ? 'ok' : 'FAILED'} in ${seconds} s ──`);
  if (!outcome.ok) failedSteps.push(step.name);
  unsteady.push(...outcome.unsteady);
  sum = {
    passed: sum.passed + outcome.counts.passed,
    failed: sum.failed + outcome.counts.failed,
    skipped: sum.skipped + outcome.counts.skipped,
  };
}
for (const name of unsteady) console.log(`unsteady, to be mended: ${name}`);
if (failedSteps.length > 0) console.log(`failed: ${failedSteps.join(', ')}`);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = failedSteps.length > 0 || sum.failed > 0 ? 1 : 0;
