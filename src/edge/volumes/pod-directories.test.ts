import { lstat, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PodDirectories } from './pod-directories.ts';

let root: string;
let pods: string;
let directories: PodDirectories;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'pod-directories-'));
  pods = join(root, 'pods');
  directories = new PodDirectories(pods);
});
afterEach(async () => await rm(root, { recursive: true }));

const modeOf = async (path: string): Promise<string> =>
  ((await lstat(join(pods, path))).mode & 0o7777).toString(8);

test('creates missing parents, including the pods’ directory', async () => {
  expect(await directories.make(join(pods, 'u/volumes/k~e/v'), 0o777)).toBe(true);
  expect(await Promise.all(['u', 'u/volumes', 'u/volumes/k~e', 'u/volumes/k~e/v'].map(modeOf))).toEqual([
    '750',
    '750',
    '750',
    '777',
  ]);
  expect(await directories.make(join(pods, 'u/volumes/k~e/v'), 0o700)).toBe(false);
  expect(await modeOf('u/volumes/k~e/v')).toBe('777');
});

test('creates shared directories of many volumes concurrently', async () => {
  const paths = Array.from({ length: 60 }, (_, at) => join(pods, `u${at % 3}/volumes/k~${at % 4}/v${at}`));
  expect(await Promise.all(paths.map((path) => directories.make(path, 0o755)))).not.toContain(false);
  expect((await readdir(pods)).sort()).toEqual(['u0', 'u1', 'u2']);
});

test('reports a directory as new to one of several concurrent callers', async () => {
  const path = join(pods, 'u/volumes/k/v');
  const created = await Promise.all([1, 2, 3].map(() => directories.make(path, 0o755)));
  expect(created.filter(Boolean)).toHaveLength(1);
});

test('creates directories again that were removed in the meantime', async () => {
  await directories.make(join(pods, 'u/volumes/k/v'), 0o755);
  await rm(join(pods, 'u'), { recursive: true });
  expect(await directories.make(join(pods, 'u/volumes/k/v'), 0o755)).toBe(true);
  await rename(join(pods, 'u/volumes/k'), join(pods, 'u/volumes/other'));
  expect(await directories.make(join(pods, 'u/volumes/k/w'), 0o755)).toBe(true);
  expect(await readdir(join(pods, 'u/volumes/k'))).toEqual(['w']);
});

test('evicts the oldest directories from its cache', async () => {
  const paths = Array.from({ length: 700 }, (_, at) => join(pods, `u/volumes/k${at}/v`));
  await Promise.all(paths.map((path) => directories.make(path, 0o755)));
  expect(await directories.make(join(pods, 'u/volumes/k0/w'), 0o755)).toBe(true);
  expect((await readdir(join(pods, 'u/volumes/k0'))).sort()).toEqual(['v', 'w']);
});

test('creates directories outside the pods’ directory', async () => {
  expect(await directories.make(join(root, 'elsewhere/a/b'), 0o711)).toBe(true);
  expect((await lstat(join(root, 'elsewhere/a/b'))).mode & 0o777).toBe(0o711);
});

test('reports a file in place of a directory, and does not cache it', async () => {
  await mkdir(join(pods, 'u'), { recursive: true });
  await writeFile(join(pods, 'u/volumes'), '');
  const path = join(pods, 'u/volumes/k/v');
  await expect(directories.make(path, 0o755)).rejects.toMatchObject({ code: 'ENOTDIR' });
  await rm(join(pods, 'u/volumes'));
  await symlink('nowhere', join(pods, 'u/volumes'));
  await expect(directories.make(path, 0o755)).rejects.toThrow();
  await rm(join(pods, 'u/volumes'));
  expect(await directories.make(path, 0o755)).toBe(true);
});
