import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogWatch } from './log-watch.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'log-watch-'));
  await writeFile(join(root, '0.log'), '');
});
afterEach(() => rm(root, { recursive: true, force: true }));

test('everybody who waits is told once; who has left is not', async () => {
  const path = join(root, '0.log');
  const watch = new LogWatch();
  const told: string[] = [];
  const both = new Promise<void>((resolve) => {
    const note = (name: string) => (): void => {
      told.push(name);
      if (told.length === 2) resolve();
    };
    watch.next(path, note('a'));
    watch.next(path, note('b'));
    watch.next(path, note('c')).close();
  });
  await appendFile(path, 'x');
  await both;
  await appendFile(path, 'y');
  const again = new Promise<void>((resolve) => watch.next(path, resolve));
  await appendFile(path, 'z');
  await again;
  expect(told.toSorted()).toEqual(['a', 'b']);
});

test('a directory that is not there cannot be watched, and nobody fails for it', () => {
  const waiting = new LogWatch().next('/nonexistent/dir/0.log', () => undefined);
  expect(() => waiting.close()).not.toThrow();
});
