// A step of `make test`: known advisories for the packages that the kubelet is built from. Exits with 1 for one of level high or
// above, with `skippedCode` where the registry cannot be asked.
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
