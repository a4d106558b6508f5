// Real files: modes, links, a full file system, and a process that is killed while it appends.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, realClock } from '../../base/clock.ts';
import { HistoryDirectory } from './history-files.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'history-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = async (files: HistoryDirectory, name: string): Promise<string> =>
  Buffer.from(await files.read(name, 0, 1_000_000)).toString();

test('creates directory and file for the kubelet’s user only', async () => {
  const files = new HistoryDirectory(join(root, 'history'), realClock);
  expect(await files.list()).toEqual([]);
  expect(await files.read('a', 0, 10)).toHaveLength(0);
  await files.append('a', bytes('one\n'));
  await files.append('a', bytes('two\n'));
  expect(await files.list()).toEqual([{ name: 'a', size: 8 }]);
  expect(await text(files, 'a')).toBe('one\ntwo\n');
  expect(Buffer.from(await files.read('a', 4, 3)).toString()).toBe('two');
  const mode = (path: string): number => statSync(path).mode & 0o777;
  expect([mode(join(root, 'history')), mode(join(root, 'history/a'))]).toEqual([0o700, 0o600]);
  await files.remove('a');
  await files.remove('a');
  expect(await files.list()).toEqual([]);
});

test('a call that does not return occupies one thread only, until it does', async () => {
  const timers: (() => void)[] = [];
  const setTimer: Clock['setTimer'] = (_ms, fn) => {
    timers.push(fn);
    return { cancel: () => undefined };
  };
  const files = new HistoryDirectory(root, { ...realClock, setTimer });
  const late = expect(files.append('a', bytes('one\n'))).rejects.toThrow('did not finish within 10000 ms');
  // Before the disk can answer.
  for (const fire of timers) fire();
  await late;
  await expect(files.list()).rejects.toThrow('the disk does not answer');
  await expect.poll(() => files.list().catch(() => [])).toEqual([{ name: 'a', size: 4 }]);
});

test('neither writes nor reads through a link', async () => {
  const files = new HistoryDirectory(root, realClock);
  writeFileSync(join(root, 'target'), 'secret');
  mkdirSync(join(root, 'directory'));
  symlinkSync(join(root, 'target'), join(root, 'a'));
  await expect(files.append('a', bytes('x'))).rejects.toThrow('failed to append to history');
  await expect(files.read('a', 0, 10)).rejects.toThrow('it is a link');
  expect((await files.list()).map(({ name }) => name)).toEqual(['target']);
  expect(readFileSync(join(root, 'target'), 'utf8')).toBe('secret');
});

test.skipIf(process.getuid?.() !== 0)('a full file system leaves no torn line', async () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', root]);
  try {
    const files = new HistoryDirectory(root, realClock);
    await files.append('a', bytes(`${'x'.repeat(20_000)}\n`));
    await expect(files.append('a', bytes(`${'y'.repeat(60_000)}\n`))).rejects.toThrow(/ENOSPC|append/);
    expect(await text(files, 'a')).toBe(`${'x'.repeat(20_000)}\n`);
    await files.append('a', bytes('z\n'));
    expect((await text(files, 'a')).endsWith('x\nz\n')).toBe(true);
  } finally {
    execFileSync('umount', [root]);
  }
});

test('an append that returned survives SIGKILL of the process', async () => {
  const script = join(import.meta.dirname, '../../../test/clients/append-history.ts');
  const child = spawn(process.execPath, ['tools/run-ts.mjs', script, root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = 0;
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.stdout.on('data', (chunk: Buffer) => {
      acknowledged += chunk.toString().split('\n').length - 1;
      if (acknowledged >= 20) resolve();
    });
    child.on('exit', (code) => reject(new Error(`ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  const lines = readFileSync(join(root, '00000001.jsonl'), 'utf8').split('\n');
  expect(lines.length - 1).toBeGreaterThanOrEqual(20);
});
