// A step of `make test`: checks the runtime dependencies for known advisories. Exits with 1 if one is of level high or above, and
// with `skippedCode` if the registry is unreachable.
import { spawnSync } from 'node:child_process';
import { auditVerdict } from './audit-verdict.ts';

/** EX_TEMPFAIL of sysexits.h. */
const skippedCode = 75;
const deadlineMs = 30_000;

const { error, stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=0'], {
  encoding: 'utf8',
  timeout: deadlineMs,
  killSignal: 'SIGKILL',
  maxBuffer: 16 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'ignore'],
});
const { kind, line } = auditVerdict(error === undefined ? stdout : undefined);
console.log(line);
process.exitCode = { passed: 0, failed: 1, skipped: skippedCode }[kind];
