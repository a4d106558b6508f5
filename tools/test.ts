// The command behind `make test`: runs every step even when an earlier one failed, so that one run tells all,
// and ends with the sum over the unit and integration tests.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** The step that must have worked before this one makes sense. */
  readonly after?: string;
}

const reports = ['dist/reports/unit.json', 'dist/reports/integration.json'];

const steps: readonly Step[] = [
  { name: 'check', command: ['make', '--no-print-directory', 'check'] },
  { name: 'build', command: ['make', '--no-print-directory', 'build'] },
  { name: 'integration', command: ['make', '--no-print-directory', 'integration'], after: 'build' },
  { name: 'bench', command: ['node', 'tools/run-ts.mjs', 'bench/pod-start.ts', '--smoke'], after: 'build' },
];

/** A report that is missing counts as one failure: the runner did not get as far as writing it. */
function countsOf(report: string): Counts {
  try {
    const parsed = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
    const suites = parsed['numFailedTestSuites'] ?? 0;
    const failed = parsed['numFailedTests'] ?? 0;
    return {
      passed: parsed['numPassedTests'] ?? 0,
      // A file that does not even load has no failed test in it, yet it failed.
      failed: failed === 0 && suites > 0 ? suites : failed,
      skipped: (parsed['numPendingTests'] ?? 0) + (parsed['numTodoTests'] ?? 0),
    };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

function runSteps(): readonly string[] {
  const failed: string[] = [];
  for (const step of steps) {
    if (step.after !== undefined && failed.includes(step.after)) {
      failed.push(`${step.name} (not run)`);
      continue;
    }
    console.log(`\n── ${step.name} ──`);
    const [program, ...args] = step.command;
    const startedMs = performance.now();
    const { status } = spawnSync(program, args, { stdio: 'inherit' });
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(`── ${step.name}: ${status === 0 ? 'ok' : 'FAILED'} in ${seconds} s ──`);
    if (status !== 0) failed.push(step.name);
  }
  return failed;
}

for (const report of reports) rmSync(report, { force: true });
const failedSteps = runSteps();
const sum = reports.map(countsOf).reduce((a, b) => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
}));
if (failedSteps.length > 0) console.log(`failed: ${failedSteps.join(', ')}`);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = failedSteps.length > 0 || sum.failed > 0 ? 1 : 0;
