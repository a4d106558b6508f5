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

test('notifies every waiting follower once, and none that was closed', async () => {
  const path = join(root, '0.log');
  const watch = new LogWatch();
  const notified: string[] = [];
  const both = new Promise<void>((resolve) => {
    const note = (name: string) => (): void => {
      notified.push(name);
      if (notified.length === 2) resolve();
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
  expect(notified.toSorted()).toEqual(['a', 'b']);
});

test('ignores a directory that does not exist', () => {
  const waiting = new LogWatch().next('/nonexistent/dir/0.log', () => undefined);
  expect(() => waiting.close()).not.toThrow();
});
