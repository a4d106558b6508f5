import { readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fieldOf, KernelFiles } from './kernel-files.ts';

let made: string;
beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'kernel-files-'));
  await mkdir(join(made, 'below'));
  await writeFile(join(made, 'number'), '42\n');
  await writeFile(join(made, 'max'), 'max\n');
  await writeFile(join(made, 'long'), `${'x'.repeat(200_000)}\n`);
});
afterAll(() => rm(made, { recursive: true }));

function watched() {
  const told: string[] = [];
  return { told, files: new KernelFiles({ onUnreadable: (path) => void told.push(path) }) };
}

test('texts of any length, numbers, no limit, names of directories', () => {
  const { files, told } = watched();
  expect(files.text(join(made, 'long'))).toHaveLength(200_001);
  expect(files.number(join(made, 'number'))).toBe(42);
  expect(files.number(join(made, 'max'))).toBe(Number.POSITIVE_INFINITY);
  expect(files.directories(made)).toEqual(['below']);
  expect(told).toEqual([]);
});

test('what is not there is undefined, and no fault', () => {
  const { files, told } = watched();
  expect([
    files.text(join(made, 'gone')),
    files.number(join(made, 'number', 'gone')),
    files.modifiedAtMs(join(made, 'gone')),
    files.link(join(made, 'gone')),
  ]).toEqual([undefined, undefined, undefined, undefined]);
  expect([...files.directories(join(made, 'gone')), ...files.names('/proc/0/fd')]).toEqual([]);
  expect(told).toEqual([]);
});

test('what is there and cannot be read is told of', () => {
  const { files, told } = watched();
  // A directory cannot be read as a file, whoever asks.
  expect(files.text(made)).toBeUndefined();
  expect(told).toEqual([made]);
});

test('no descriptor stays open, whatever happens', async () => {
  const { files } = watched();
  const open = (): number => readdirSync('/proc/self/fd').length;
  await chmod(join(made, 'number'), 0o644);
  files.text(made);
  const before = open();
  for (let count = 0; count < 50; count++) {
    files.text(made);
    files.text(join(made, 'number'));
    files.text(join(made, 'gone'));
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
