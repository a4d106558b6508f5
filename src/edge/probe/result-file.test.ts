import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resultFile } from './result-file.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'probe-results-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('reads the last text, undefined before the first write; readable by root only', async () => {
  const file = resultFile(join(dir, 'root', 'probe_results'));
  expect(await file.read()).toBeUndefined();
  await file.write('one');
  await file.write('two');
  expect(await file.read()).toBe('two');
  expect(await readdir(join(dir, 'root'))).toEqual(['probe_results']);
  expect((await stat(join(dir, 'root', 'probe_results'))).mode & 0o777).toBe(0o600);
});

test('names the file in errors', async () => {
  const path = join(dir, 'file');
  await writeFile(path, '');
  const below = resultFile(join(path, 'below'));
  await expect(below.write('x')).rejects.toThrow(`cannot write ${join(path, 'below')}`);
  await expect(resultFile(dir).read()).rejects.toThrow(`cannot read ${dir}`);
});

test('rejects a file that is too large', async () => {
  const path = join(dir, 'large');
  await writeFile(path, Buffer.alloc(5 * 1024 * 1024));
  await expect(resultFile(path).read()).rejects.toThrow('cannot read');
});
