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

test('what is missing above is made, from the pods’ own directory down', async () => {
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

test('many volumes of many pods at once, whose directories are the same', async () => {
  const paths = Array.from({ length: 60 }, (_, at) => join(pods, `u${at % 3}/volumes/k~${at % 4}/v${at}`));
  expect(await Promise.all(paths.map((path) => directories.make(path, 0o755)))).not.toContain(false);
  expect((await readdir(pods)).sort()).toEqual(['u0', 'u1', 'u2']);
});

test('of those who make the same one, one has made it', async () => {
  const path = join(pods, 'u/volumes/k/v');
  const made = await Promise.all([1, 2, 3].map(() => directories.make(path, 0o755)));
  expect(made.filter(Boolean)).toHaveLength(1);
});

test('what was removed meanwhile is made again, be it the pod or a part of it', async () => {
  await directories.make(join(pods, 'u/volumes/k/v'), 0o755);
  await rm(join(pods, 'u'), { recursive: true });
  expect(await directories.make(join(pods, 'u/volumes/k/v'), 0o755)).toBe(true);
  await rename(join(pods, 'u/volumes/k'), join(pods, 'u/volumes/other'));
  expect(await directories.make(join(pods, 'u/volumes/k/w'), 0o755)).toBe(true);
  expect(await readdir(join(pods, 'u/volumes/k'))).toEqual(['w']);
});

test('so many directories that the first are forgotten', async () => {
  const paths = Array.from({ length: 700 }, (_, at) => join(pods, `u/volumes/k${at}/v`));
  await Promise.all(paths.map((path) => directories.make(path, 0o755)));
  expect(await directories.make(join(pods, 'u/volumes/k0/w'), 0o755)).toBe(true);
  expect((await readdir(join(pods, 'u/volumes/k0'))).sort()).toEqual(['v', 'w']);
});

test('outside the pods’ directory, too', async () => {
  expect(await directories.make(join(root, 'elsewhere/a/b'), 0o711)).toBe(true);
  expect((await lstat(join(root, 'elsewhere/a/b'))).mode & 0o777).toBe(0o711);
});

test('what is in the way is told, and not remembered', async () => {
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
