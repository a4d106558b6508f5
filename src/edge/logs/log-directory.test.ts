import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logDirectory } from './log-directory.ts';

const { signal } = new AbortController();
let base = '';
let root = '';

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'log-directory-'));
  root = join(base, 'log');
  mkdirSync(join(root, 'sub'), { recursive: true });
  mkdirSync(join(base, 'pods'));
  writeFileSync(join(root, 'syslog'), 'hello');
  writeFileSync(join(base, 'secret'), 'secret');
  writeFileSync(join(base, 'pods', '0.log'), 'of a pod');
});

afterEach(() => rmSync(base, { recursive: true }));

const open = (path: string) => logDirectory({ root, others: [join(base, 'pods')] }).open(path, signal);

async function text(path: string): Promise<string | undefined> {
  const found = await open(path);
  if (found?.kind !== 'file') return undefined;
  let all = '';
  for await (const chunk of found.read(0, found.bytes)) all += new TextDecoder().decode(chunk);
  return all;
}

test('opens files and directories inside', async () => {
  expect(await text('syslog')).toBe('hello');
  expect(await open('')).toMatchObject({ kind: 'directory', entries: ['sub/', 'syslog'] });
  expect(await open('sub')).toMatchObject({ kind: 'directory', entries: [] });
  expect(await open('none')).toBeUndefined();
  expect(await open('syslog/x')).toBeUndefined();
  expect(await open('a\u0000b')).toBeUndefined();
});

test('follows links inside the directories and nowhere else', async () => {
  symlinkSync('syslog', join(root, 'same'));
  symlinkSync('../pods/0.log', join(root, 'pod.log'));
  symlinkSync('../secret', join(root, 'secret'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync('loop', join(root, 'loop'));
  expect(await text('same')).toBe('hello');
  expect(await text('pod.log')).toBe('of a pod');
  for (const path of ['secret', 'up', 'up/secret', '../secret', 'sub/../../secret', '/../secret'])
    await expect(open(path), path).rejects.toMatchObject({ kind: 'forbidden' });
  expect(await open('loop')).toBeUndefined();
});

test('rejects a directory whose name has the root as a prefix', async () => {
  mkdirSync(join(base, 'log-of-others'));
  writeFileSync(join(base, 'log-of-others', 'x'), 'x');
  await expect(open('../log-of-others/x')).rejects.toMatchObject({ kind: 'forbidden' });
});

test('rejects a pipe without blocking', async () => {
  execFileSync('mkfifo', [join(root, 'pipe')]);
  await expect(open('pipe')).rejects.toMatchObject({ kind: 'forbidden' });
});

test('distinguishes binary files from text', async () => {
  writeFileSync(join(root, 'wtmp'), Buffer.from([1, 0, 2]));
  expect(await open('wtmp').then(closed)).toMatchObject({ looksLikeText: false });
  expect(await open('syslog').then(closed)).toMatchObject({ looksLikeText: true });
});

test('sends a file that grows as it was, and fails for one that shrinks', async () => {
  const growing = await open('syslog');
  appendFileSync(join(root, 'syslog'), ' and more');
  if (growing?.kind !== 'file') throw new Error('no file');
  let all = '';
  for await (const chunk of growing.read(0, growing.bytes)) all += new TextDecoder().decode(chunk);
  expect(all).toBe('hello');
  const shrinking = await open('syslog');
  truncateSync(join(root, 'syslog'), 2);
  if (shrinking?.kind !== 'file') throw new Error('no file');
  const read = async (): Promise<void> => {
    for await (const chunk of shrinking.read(0, shrinking.bytes)) expect(chunk.length).toBe(2);
  };
  await expect(read()).rejects.toThrow('truncated');
});

async function closed(found: Awaited<ReturnType<typeof open>>): Promise<typeof found> {
  if (found?.kind === 'file') await found.close();
  return found;
}
