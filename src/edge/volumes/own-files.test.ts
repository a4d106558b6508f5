import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OwnFiles } from './own-files.ts';

let root: string;
let files: OwnFiles;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'own-files-'));
  for (const folder of ['pods/u', 'plugins/p', 'outside']) mkdirSync(join(root, folder), { recursive: true });
  files = new OwnFiles(join(root, 'pods'));
});
afterEach(() => rmSync(root, { recursive: true }));

test('writes, replaces, reads and removes a file below pods and plugins', async () => {
  for (const path of [join(root, 'pods/u/vol_data.json'), join(root, 'plugins/p/vol_data.json')]) {
    expect(await files.read(path, 100)).toBeUndefined();
    await files.write(path, 'one');
    await files.write(path, 'two');
    expect(await files.read(path, 100)).toBe('two');
    await files.remove(path);
    await files.remove(path);
    expect(existsSync(path)).toBe(false);
  }
});

test('rejects paths outside, also by dots', async () => {
  for (const path of [
    join(root, 'outside/x'),
    `${root}/pods/../outside/x`,
    `${root}/pods/u/`,
    '/etc/passwd',
  ]) {
    await expect(files.read(path, 100)).rejects.toThrow('refusing to access');
    await expect(files.write(path, '')).rejects.toThrow('refusing to access');
    await expect(files.remove(path)).rejects.toThrow('refusing to access');
    await expect(files.removeEmpty(path)).rejects.toThrow('refusing to access');
  }
  await expect(files.removeEmpty(join(root, 'pods/u'))).rejects.toThrow('refusing to access');
});

test('reads neither through a link nor more than the limit', async () => {
  const path = join(root, 'plugins/p/vol_data.json');
  writeFileSync(join(root, 'outside/secret'), 'secret');
  symlinkSync(join(root, 'outside/secret'), path);
  await expect(files.read(path, 100)).rejects.toThrow();
  await files.remove(path);
  expect(readFileSync(join(root, 'outside/secret'), 'utf8')).toBe('secret');
  await files.write(path, 'x'.repeat(101));
  await expect(files.read(path, 100)).rejects.toThrow();
});

test('removes what a killed kubelet left of a write', async () => {
  const path = join(root, 'plugins/p/vol_data.json');
  writeFileSync(`${path}.tmp`, '{');
  await files.remove(path);
  expect(existsSync(`${path}.tmp`)).toBe(false);
});

test('removes empty directories and empty files only', async () => {
  const directory = join(root, 'plugins/p/d');
  mkdirSync(directory);
  writeFileSync(join(directory, 'f'), '');
  await expect(files.removeEmpty(directory)).rejects.toMatchObject({ kind: 'conflict' });
  await files.removeEmpty(join(directory, 'f'));
  await files.removeEmpty(directory);
  await files.removeEmpty(directory);
  writeFileSync(join(root, 'plugins/p/full'), 'x');
  await expect(files.removeEmpty(join(root, 'plugins/p/full'))).rejects.toThrow('not empty');
  expect(existsSync(directory)).toBe(false);
});
