import { execFileSync } from 'node:child_process';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PodFiles } from './pod-files.ts';

let dir: string;
let mounts: { mountPoint: string }[];
let files: PodFiles;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pod-files-'));
  mounts = [{ mountPoint: '/' }];
  files = new PodFiles({ mounts: async () => mounts });
});
afterEach(async () => await rm(dir, { recursive: true }));

describe('makeDirectory', () => {
  test('rejects a link in place of the directory, but follows links in its parents', async () => {
    await mkdir(join(dir, 'outside'));
    await symlink(join(dir, 'outside'), join(dir, 'link'));
    await expect(files.makeDirectory(join(dir, 'link'), 0o755)).rejects.toThrow('cannot create directory');
    expect(await files.makeDirectory(join(dir, 'link/pod'), 0o755)).toBe(true);
  });
  test('creates the parents, idempotently', async () => {
    await files.makeDirectory(join(dir, 'a/b'), 0o750);
    await files.makeDirectory(join(dir, 'a/b'), 0o750);
    expect((await stat(join(dir, 'a/b'))).mode & 0o777).toBe(0o750);
  });
  test('names a path with a file among its parents', async () => {
    await writeFile(join(dir, 'f'), '');
    await expect(files.makeDirectory(join(dir, 'f/b'), 0o750)).rejects.toThrow(
      `cannot create directory ${dir}/f/b`,
    );
  });
});

test('makeDirectory returns whether it created the directory, and rejects a file', async () => {
  expect(await files.makeDirectory(join(dir, 'a/b'), 0o750)).toBe(true);
  expect(await files.makeDirectory(join(dir, 'a/b'), 0o750)).toBe(false);
  await writeFile(join(dir, 'f'), '');
  await expect(files.makeDirectory(join(dir, 'f'), 0o750)).rejects.toThrow('cannot create directory');
});

describe('writeText', () => {
  const path = (): string => join(dir, 'pod/etc-hosts');
  const inode = async (): Promise<number> => (await stat(path())).ino;
  test('creates the file and its directory with the mode, independent of the umask', async () => {
    await files.writeText(path(), 'text', 0o666);
    expect([await readFile(path(), 'utf8'), (await stat(path())).mode & 0o777]).toEqual(['text', 0o666]);
  });
  test('does not write an unchanged file', async () => {
    await files.writeText(path(), 'text', 0o644);
    await utimes(path(), 1, 1);
    await files.writeText(path(), 'text', 0o644);
    expect((await stat(path())).mtimeMs).toBe(1000);
  });
  test('rewrites changed text in place, since the file may be mounted', async () => {
    await files.writeText(path(), 'a longer text', 0o644);
    const before = await inode();
    await files.writeText(path(), 'other', 0o644);
    expect([await readFile(path(), 'utf8'), await inode()]).toEqual(['other', before]);
  });
  test('corrects the mode of an existing file', async () => {
    await files.writeText(path(), '', 0o600);
    await files.writeText(path(), '', 0o666);
    expect((await stat(path())).mode & 0o777).toBe(0o666);
  });
  test('rewrites a sparse file of gigabytes without reading it', async () => {
    await files.writeText(path(), 'text', 0o644);
    await truncate(path(), 3 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    await files.writeText(path(), 'text', 0o644);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
    expect(await readFile(path(), 'utf8')).toBe('text');
  });
  const tampered: readonly (readonly [string, (path: string, other: string) => unknown])[] = [
    ['a link', (at, other) => symlink(other, at)],
    ['a link to nothing', (at) => symlink(join(dir, 'none'), at)],
    ['a hard link', (at, other) => link(other, at)],
    ['a FIFO', (at) => execFileSync('mkfifo', [at])],
  ];
  for (const [what, put] of tampered)
    test(`replaces ${what} by a file, and leaves its target untouched`, async () => {
      const other = join(dir, 'other');
      await writeFile(other, 'theirs', { mode: 0o600 });
      await files.writeText(path(), 'text', 0o644);
      await rm(path());
      await put(path(), other);
      await files.writeText(path(), 'text', 0o644);
      const now = await lstat(path());
      expect([now.isFile(), now.mode & 0o777, await readFile(path(), 'utf8')]).toEqual([true, 0o644, 'text']);
      expect([await readFile(other, 'utf8'), (await stat(other)).mode & 0o777]).toEqual(['theirs', 0o600]);
      expect(await files.exists(join(dir, 'none'))).toBe(false);
    });
  test('names the path of a failed write', async () => {
    await writeFile(join(dir, 'f'), '');
    await expect(files.writeText(join(dir, 'f/g'), 'x', 0o644)).rejects.toThrow(`cannot write ${dir}/f/g`);
  });
});

describe('link', () => {
  test('creates a link, and replaces an existing one', async () => {
    await files.link('/one', join(dir, 'link'));
    await files.link('/two', join(dir, 'link'));
    expect(await readlink(join(dir, 'link'))).toBe('/two');
  });
});

describe('readText caches stable files', () => {
  const write = async (text: string): Promise<void> => await writeFile(join(dir, 'f'), text);
  test('reads a quick change of the same length', async () => {
    for (const text of ['a', 'b', 'c']) {
      await write(text);
      expect(await files.readText(join(dir, 'f'))).toBe(text);
    }
  });
  test('reads a file that replaced another with the same times', async () => {
    await write('old');
    await utimes(join(dir, 'f'), 1, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect(await files.readText(join(dir, 'f'))).toBe('old');
    expect(await files.readText(join(dir, 'f'))).toBe('old');
    await writeFile(join(dir, 'g'), 'new');
    await utimes(join(dir, 'g'), 1, 1);
    await rename(join(dir, 'g'), join(dir, 'f'));
    expect(await files.readText(join(dir, 'f'))).toBe('new');
  });
});

test('readText reads a file, and names a missing one', async () => {
  await writeFile(join(dir, 'f'), 'text');
  expect(await files.readText(join(dir, 'f'))).toBe('text');
  await expect(files.readText(join(dir, 'none'))).rejects.toThrow(`cannot read ${dir}/none`);
});

test('readTextIfAny rejects a file that is too large or a link', async () => {
  await writeFile(join(dir, 'f'), '');
  await truncate(join(dir, 'f'), 3 * 1024 ** 3);
  await symlink(join(dir, 'f'), join(dir, 'link'));
  for (const name of ['f', 'link'])
    await expect(files.readTextIfAny(join(dir, name))).rejects.toThrow(`cannot read ${dir}/${name}`);
});

describe('removeFile', () => {
  test('removes a file or a link, and ignores a missing one', async () => {
    await writeFile(join(dir, 'f'), '');
    await symlink(join(dir, 'f'), join(dir, 'link'));
    for (const name of ['link', 'none', 'none/f']) await files.removeFile(join(dir, name));
    expect(await readdir(dir)).toEqual(['f']);
  });
  test('follows no link below the given directory, which may be a link itself', async () => {
    for (const name of ['logs/pod/app', 'outside']) await mkdir(join(dir, name), { recursive: true });
    for (const name of ['logs/pod/app/0.log', 'outside/0.log']) await writeFile(join(dir, name), '');
    await symlink(join(dir, 'outside'), join(dir, 'logs/pod/evil'));
    await symlink(join(dir, 'logs'), join(dir, 'linked'));
    const remove = (path: string): Promise<void> => files.removeFile(join(dir, path), join(dir, 'linked'));
    await expect(remove('linked/pod/evil/0.log')).rejects.toThrow('cannot remove');
    await remove('linked/pod/app/0.log');
    expect([await readdir(join(dir, 'outside')), await readdir(join(dir, 'logs/pod/app'))]).toEqual([
      ['0.log'],
      [],
    ]);
  });
});

describe('listNames', () => {
  test('lists the names, and none for a missing directory', async () => {
    await writeFile(join(dir, '0.log'), '');
    expect(await files.listNames(dir)).toEqual(['0.log']);
    expect(await files.listNames(join(dir, 'none'))).toEqual([]);
  });
  test('stops at the limit', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(dir, name), '');
    expect(await files.listNames(dir, 2)).toHaveLength(2);
  });
  test('rejects a file', async () => {
    await writeFile(join(dir, 'f'), '');
    await expect(files.listNames(join(dir, 'f'))).rejects.toThrow('cannot read directory');
  });
});

describe('removeTree', () => {
  beforeEach(async () => {
    await mkdir(join(dir, 'pod/volumes'), { recursive: true });
    await writeFile(join(dir, 'pod/volumes/f'), 'x');
  });
  test('removes the directory with its content, and nothing beside it', async () => {
    await mkdir(join(dir, 'pod-2'));
    await files.removeTree(join(dir, 'pod'));
    expect(await readdir(dir)).toEqual(['pod-2']);
  });
  test.each([['none'], ['none/deeper/still']])('ignores the missing directory %s', async (name) => {
    await expect(files.removeTree(join(dir, name))).resolves.toBeUndefined();
  });
  test('removes a link without following it', async () => {
    await mkdir(join(dir, 'kept'));
    await writeFile(join(dir, 'kept/f'), 'x');
    await symlink(join(dir, 'kept'), join(dir, 'pod/link'));
    await symlink(join(dir, 'kept'), join(dir, 'pod-link'));
    await files.removeTree(join(dir, 'pod'));
    await files.removeTree(join(dir, 'pod-link'));
    expect([await readdir(dir), await readdir(join(dir, 'kept'))]).toEqual([['kept'], ['f']]);
  });

  const guarded: readonly (readonly [string, string])[] = [
    ['below the directory', 'pod/volumes/m'],
    ['at the directory', 'pod'],
  ];
  for (const [where, mountPoint] of guarded) {
    test(`removes nothing if there is a mount ${where}`, async () => {
      mounts.push({ mountPoint: join(dir, mountPoint) });
      await expect(files.removeTree(join(dir, 'pod'))).rejects.toMatchObject({ kind: 'conflict' });
      expect(await readdir(join(dir, 'pod/volumes'))).toEqual(['f']);
    });
  }
  test('finds a mount behind a link in the path', async () => {
    await symlink(dir, join(dir, 'root'));
    mounts.push({ mountPoint: join(dir, 'pod/volumes') });
    await expect(files.removeTree(join(dir, 'root/pod'))).rejects.toMatchObject({
      cause: { reason: 'MountBusy', message: `${dir}/pod/volumes is a mount point` },
    });
    expect(await readdir(join(dir, 'pod/volumes'))).toEqual(['f']);
  });
  test('ignores a mount beside the directory with the same prefix', async () => {
    mounts.push({ mountPoint: join(dir, 'pod-2') });
    await files.removeTree(join(dir, 'pod'));
    expect(await readdir(dir)).toEqual([]);
  });
  test('a name that the file system refuses is absent: nothing to remove, to list or to find', async () => {
    const path = join(dir, 'n'.repeat(256));
    await expect(files.removeTree(path)).resolves.toBeUndefined();
    await expect(files.removeFile(path)).resolves.toBeUndefined();
    await expect(files.removeFile(join(path, '0.log'), dir)).resolves.toBeUndefined();
    expect(await files.listNames(path)).toEqual([]);
    expect(await files.exists(path)).toBe(false);
  });
  test('removes nothing without a mount table', async () => {
    const blind = new PodFiles({ mounts: () => Promise.reject(new Error('no /proc')) });
    await expect(blind.removeTree(join(dir, 'pod'))).rejects.toThrow('cannot remove');
    expect(await readdir(join(dir, 'pod/volumes'))).toEqual(['f']);
  });
});

test('isDanglingLink is true only for a link without a target', async () => {
  await writeFile(join(dir, 'file.log'), '');
  await symlink(join(dir, 'file.log'), join(dir, 'good.log'));
  await symlink(join(dir, 'gone'), join(dir, 'dead.log'));
  await symlink(join(dir, 'dead.log'), join(dir, 'through.log'));
  const dangling = async (name: string): Promise<boolean> => await files.isDanglingLink(join(dir, name));
  expect(
    await Promise.all(['file.log', 'good.log', 'gone', 'dead.log', 'through.log'].map(dangling)),
  ).toEqual([false, false, false, true, true]);
  await symlink('loop.log', join(dir, 'loop.log'));
  await expect(dangling('loop.log')).rejects.toThrow('cannot stat');
});
