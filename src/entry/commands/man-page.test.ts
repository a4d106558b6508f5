// The manual page in the programs that show it. A program that is not installed is skipped by name.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manPage } from '../../config/man/man-page.ts';

const exec = promisify(execFile);
let dir: string;
let file: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'man-page-'));
  file = join(dir, 'kubelet.8');
  writeFileSync(file, manPage('2026-01-31'));
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Whether the program runs; mandoc has no --version, but fails without reading anything. */
function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch (err) {
    return !(err instanceof Error && 'code' in err && err.code === 'ENOENT');
  }
}

const checks = [
  ['groff', ['-man', '-Tutf8', '-ww']],
  ['man', ['--warnings', '-E', 'UTF-8', '-Tutf8', '-l']],
  ['mandoc', ['-T', 'lint', '-W', 'warning']],
] as const;
for (const [program, args] of checks)
  test.skipIf(!isInstalled(program))(`${program} has no warning (skipped without ${program})`, async () => {
    const { stderr, stdout } = await exec(program, [...args, file], {
      env: { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '80', TERM: 'dumb' },
    });
    expect(stderr).toBe('');
    if (program === 'mandoc') expect(stdout).toBe('');
    else expect(stdout).toContain('node agent of Kubernetes');
  });
