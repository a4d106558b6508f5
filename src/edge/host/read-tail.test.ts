import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readTail } from './read-tail.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'read-tail-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('the last bytes, and whether that is all', async () => {
  const path = join(dir, 'f');
  await writeFile(path, 'abcdef');
  const read = async (bytes: number): Promise<unknown> => {
    const tail = await readTail(path, bytes);
    return [Buffer.from(tail?.bytes ?? []).toString(), tail?.whole];
  };
  expect(await read(3)).toEqual(['def', false]);
  expect(await read(6)).toEqual(['abcdef', true]);
  expect(await read(100)).toEqual(['abcdef', true]);
  await writeFile(path, '');
  expect(await read(3)).toEqual(['', true]);
});

test('nothing there is undefined, what is no file is an error', async () => {
  expect(await readTail(join(dir, 'none'), 1)).toBeUndefined();
  await mkdir(join(dir, 'd'));
  await expect(readTail(join(dir, 'd'), 1)).rejects.toMatchObject({ reason: 'FailedRead' });
});
