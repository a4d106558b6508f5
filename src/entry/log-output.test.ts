import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logOutput } from './log-output.ts';

test('lines go to the file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'log-output-'));
  const fd = openSync(join(dir, 'log'), 'a');
  const write = logOutput(fd);
  write('one\n');
  write('two\n');
  closeSync(fd);
  expect(readFileSync(join(dir, 'log'), 'utf8')).toBe('one\ntwo\n');
  rmSync(dir, { recursive: true });
});

test.skipIf(process.platform !== 'linux')('a full disk loses lines, and nothing else', () => {
  const fd = openSync('/dev/full', 'w');
  const write = logOutput(fd);
  expect(() => {
    write('one\n');
    write('two\n');
  }).not.toThrow();
  closeSync(fd);
});
