import { readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fieldOf, KernelFiles } from './kernel-files.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kernel-files-'));
  await mkdir(join(dir, 'below'));
  await writeFile(join(dir, 'number'), '42\n');
  await writeFile(join(dir, 'max'), 'max\n');
  await writeFile(join(dir, 'long'), `${'x'.repeat(200_000)}\n`);
});
afterAll(() => rm(dir, { recursive: true }));

function watched() {
  const reported: string[] = [];
  return { reported, files: new KernelFiles({ onUnreadable: (path) => void reported.push(path) }) };
}

test('reads texts of any length, numbers, max and the names of directories', () => {
  const { files, reported } = watched();
  expect(files.text(join(dir, 'long'))).toHaveLength(200_001);
  expect(files.number(join(dir, 'number'))).toBe(42);
  expect(files.number(join(dir, 'max'))).toBe(Number.POSITIVE_INFINITY);
  expect(files.directories(dir)).toEqual(['below']);
  expect(reported).toEqual([]);
});

test('returns undefined for missing files without reporting them', () => {
  const { files, reported } = watched();
  expect([
    files.text(join(dir, 'gone')),
    files.number(join(dir, 'number', 'gone')),
    files.modifiedAtMs(join(dir, 'gone')),
    files.link(join(dir, 'gone')),
  ]).toEqual([undefined, undefined, undefined, undefined]);
  expect([...files.directories(join(dir, 'gone')), ...files.names('/proc/0/fd')]).toEqual([]);
  expect(reported).toEqual([]);
});

test('reports a file that exists but cannot be read', () => {
  const { files, reported } = watched();
  // A directory cannot be read as a file, not even by root.
  expect(files.text(dir)).toBeUndefined();
  expect(reported).toEqual([dir]);
});

test('leaves no descriptor open', async () => {
  const { files } = watched();
  const open = (): number => readdirSync('/proc/self/fd').length;
  await chmod(join(dir, 'number'), 0o644);
  files.text(dir);
  const before = open();
  for (let count = 0; count < 50; count++) {
    files.text(dir);
    files.text(join(dir, 'number'));
    files.text(join(dir, 'gone'));
  }
  expect(open()).toBe(before);
});

describe('fieldOf', () => {
  const text = 'cache 1\nrss 2\ntotal_rss 3\ninactive_file 4\ntotal_inactive_file 5';
  test.each([
    ['cache', 1],
    ['rss', 2],
    ['total_rss', 3],
    ['total_inactive_file', 5],
    ['file', undefined],
    ['swap', undefined],
  ])('%s', (key, value) => expect(fieldOf(text, key)).toBe(value));
});
