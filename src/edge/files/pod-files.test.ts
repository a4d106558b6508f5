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

let made: string;
let mounts: { mountPoint: string }[];
let files: PodFiles;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'pod-files-'));
  mounts = [{ mountPoint: '/' }];
  files = new PodFiles({ mounts: async () => mounts });
});
afterEach(async () => await rm(made, { recursive: true }));

describe('makeDirectory', () => {
  test('does not take a link for a directory, except above it', async () => {
    await mkdir(join(made, 'outside'));
    await symlink(join(made, 'outside'), join(made, 'link'));
    await expect(files.makeDirectory(join(made, 'link'), 0o755)).rejects.toThrow('cannot make directory');
    expect(await files.makeDirectory(join(made, 'link/pod'), 0o755)).toBe(true);
  });
  test('with what is above it, once or twice', async () => {
    await files.makeDirectory(join(made, 'a/b'), 0o750);
    await files.makeDirectory(join(made, 'a/b'), 0o750);
    expect((await stat(join(made, 'a/b'))).mode & 0o777).toBe(0o750);
  });
  test('where a file is in the way: an error that names it', async () => {
    await writeFile(join(made, 'f'), '');
    await expect(files.makeDirectory(join(made, 'f/b'), 0o750)).rejects.toThrow(
      `cannot make directory ${made}/f/b`,
    );
  });
});

test('makeDirectory says whether it made it, and does not take a file for one', async () => {
  expect(await files.makeDirectory(join(made, 'a/b'), 0o750)).toBe(true);
  expect(await files.makeDirectory(join(made, 'a/b'), 0o750)).toBe(false);
  await writeFile(join(made, 'f'), '');
  await expect(files.makeDirectory(join(made, 'f'), 0o750)).rejects.toThrow('cannot make directory');
});

describe('writeText', () => {
  const path = (): string => join(made, 'pod/etc-hosts');
  const inode = async (): Promise<number> => (await stat(path())).ino;
  test('makes the file and its directory, with its mode in spite of the umask', async () => {
    await files.writeText(path(), 'text', 0o666);
    expect([await readFile(path(), 'utf8'), (await stat(path())).mode & 0o777]).toEqual(['text', 0o666]);
  });
  test('what is right already is not written again', async () => {
    await files.writeText(path(), 'text', 0o644);
    await utimes(path(), 1, 1);
    await files.writeText(path(), 'text', 0o644);
    expect((await stat(path())).mtimeMs).toBe(1000);
  });
  test('what is not is replaced in the same file: it may be mounted', async () => {
    await files.writeText(path(), 'a longer text', 0o644);
    const before = await inode();
    await files.writeText(path(), 'other', 0o644);
    expect([await readFile(path(), 'utf8'), await inode()]).toEqual(['other', before]);
  });
  test('a mode that somebody was cut off from setting is set', async () => {
    await files.writeText(path(), '', 0o600);
    await files.writeText(path(), '', 0o666);
    expect((await stat(path())).mode & 0o777).toBe(0o666);
  });
  test('a file that became a sparse one of gigabytes is written anew without being read', async () => {
    await files.writeText(path(), 'text', 0o644);
    await truncate(path(), 3 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    await files.writeText(path(), 'text', 0o644);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
    expect(await readFile(path(), 'utf8')).toBe('text');
  });
  const tampered: readonly (readonly [string, (path: string, other: string) => unknown])[] = [
    ['a link', (at, other) => symlink(other, at)],
    ['a link to nothing', (at) => symlink(join(made, 'none'), at)],
    ['a hard link', (at, other) => link(other, at)],
    ['a FIFO', (at) => execFileSync('mkfifo', [at])],
  ];
  for (const [what, put] of tampered)
    test(`${what} in its place is replaced by a file, and what it leads to stays`, async () => {
      const other = join(made, 'other');
      await writeFile(other, 'theirs', { mode: 0o600 });
      await files.writeText(path(), 'text', 0o644);
      await rm(path());
      await put(path(), other);
      await files.writeText(path(), 'text', 0o644);
      const now = await lstat(path());
      expect([now.isFile(), now.mode & 0o777, await readFile(path(), 'utf8')]).toEqual([true, 0o644, 'text']);
      expect([await readFile(other, 'utf8'), (await stat(other)).mode & 0o777]).toEqual(['theirs', 0o600]);
      expect(await files.exists(join(made, 'none'))).toBe(false);
    });
  test('where it cannot be: an error that names it', async () => {
    await writeFile(join(made, 'f'), '');
    await expect(files.writeText(join(made, 'f/g'), 'x', 0o644)).rejects.toThrow(`cannot write ${made}/f/g`);
  });
});

describe('link', () => {
  test('made, and made anew in place of another', async () => {
    await files.link('/one', join(made, 'link'));
    await files.link('/two', join(made, 'link'));
    expect(await readlink(join(made, 'link'))).toBe('/two');
  });
});

describe('readText keeps what has settled', () => {
  const write = async (text: string): Promise<void> => await writeFile(join(made, 'f'), text);
  test('a change of the same length is seen, however soon it comes', async () => {
    for (const text of ['a', 'b', 'c']) {
      await write(text);
      expect(await files.readText(join(made, 'f'))).toBe(text);
    }
  });
  test('a file that was replaced by another is seen, whatever its times', async () => {
    await write('old');
    await utimes(join(made, 'f'), 1, 1);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect(await files.readText(join(made, 'f'))).toBe('old');
    expect(await files.readText(join(made, 'f'))).toBe('old');
    await writeFile(join(made, 'g'), 'new');
    await utimes(join(made, 'g'), 1, 1);
    await rename(join(made, 'g'), join(made, 'f'));
    expect(await files.readText(join(made, 'f'))).toBe('new');
  });
});

test('readText', async () => {
  await writeFile(join(made, 'f'), 'text');
  expect(await files.readText(join(made, 'f'))).toBe('text');
  await expect(files.readText(join(made, 'none'))).rejects.toThrow(`cannot read ${made}/none`);
});

test('readTextIfAny refuses what is too large or not a file', async () => {
  await writeFile(join(made, 'f'), '');
  await truncate(join(made, 'f'), 3 * 1024 ** 3);
  await symlink(join(made, 'f'), join(made, 'link'));
  for (const name of ['f', 'link'])
    await expect(files.readTextIfAny(join(made, name))).rejects.toThrow(`cannot read ${made}/${name}`);
});

describe('removeFile', () => {
  test('removes a file or a link, and nothing there is fine', async () => {
    await writeFile(join(made, 'f'), '');
    await symlink(join(made, 'f'), join(made, 'link'));
    for (const name of ['link', 'none', 'none/f']) await files.removeFile(join(made, name));
    expect(await readdir(made)).toEqual(['f']);
  });
  test('below a directory: no link on the way is followed, but that directory may be one itself', async () => {
    for (const name of ['logs/pod/app', 'outside']) await mkdir(join(made, name), { recursive: true });
    for (const name of ['logs/pod/app/0.log', 'outside/0.log']) await writeFile(join(made, name), '');
    await symlink(join(made, 'outside'), join(made, 'logs/pod/evil'));
    await symlink(join(made, 'logs'), join(made, 'linked'));
    const remove = (path: string): Promise<void> => files.removeFile(join(made, path), join(made, 'linked'));
    await expect(remove('linked/pod/evil/0.log')).rejects.toThrow('cannot remove');
    await remove('linked/pod/app/0.log');
    expect([await readdir(join(made, 'outside')), await readdir(join(made, 'logs/pod/app'))]).toEqual([
      ['0.log'],
      [],
    ]);
  });
});

describe('listNames', () => {
  test('names, and none where there is nothing', async () => {
    await writeFile(join(made, '0.log'), '');
    expect(await files.listNames(made)).toEqual(['0.log']);
    expect(await files.listNames(join(made, 'none'))).toEqual([]);
  });
  test('at most so many', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(made, name), '');
    expect(await files.listNames(made, 2)).toHaveLength(2);
  });
  test('a file is no directory', async () => {
    await writeFile(join(made, 'f'), '');
    await expect(files.listNames(join(made, 'f'))).rejects.toThrow('cannot read directory');
  });
});

describe('removeTree', () => {
  beforeEach(async () => {
    await mkdir(join(made, 'pod/volumes'), { recursive: true });
    await writeFile(join(made, 'pod/volumes/f'), 'x');
  });
  test('removes it and what is in it, and nothing beside it', async () => {
    await mkdir(join(made, 'pod-2'));
    await files.removeTree(join(made, 'pod'));
    expect(await readdir(made)).toEqual(['pod-2']);
  });
  test.each([['none'], ['none/deeper/still']])('%s: nothing there is fine', async (name) => {
    await expect(files.removeTree(join(made, name))).resolves.toBeUndefined();
  });
  test('a link is removed, not followed', async () => {
    await mkdir(join(made, 'kept'));
    await writeFile(join(made, 'kept/f'), 'x');
    await symlink(join(made, 'kept'), join(made, 'pod/link'));
    await symlink(join(made, 'kept'), join(made, 'pod-link'));
    await files.removeTree(join(made, 'pod'));
    await files.removeTree(join(made, 'pod-link'));
    expect([await readdir(made), await readdir(join(made, 'kept'))]).toEqual([['kept'], ['f']]);
  });

  const guarded: readonly (readonly [string, string])[] = [
    ['deep in it', 'pod/volumes/m'],
    ['at it', 'pod'],
  ];
  for (const [where, mountPoint] of guarded) {
    test(`a mount ${where} keeps everything where it is`, async () => {
      mounts.push({ mountPoint: join(made, mountPoint) });
      await expect(files.removeTree(join(made, 'pod'))).rejects.toMatchObject({ kind: 'conflict' });
      expect(await readdir(join(made, 'pod/volumes'))).toEqual(['f']);
    });
  }
  test('a mount is found although a link leads to it', async () => {
    await symlink(made, join(made, 'root'));
    mounts.push({ mountPoint: join(made, 'pod/volumes') });
    await expect(files.removeTree(join(made, 'root/pod'))).rejects.toMatchObject({
      cause: { reason: 'MountBusy', message: `${made}/pod/volumes is mounted in it` },
    });
    expect(await readdir(join(made, 'pod/volumes'))).toEqual(['f']);
  });
  test('a mount beside it, with the same beginning, does not matter', async () => {
    mounts.push({ mountPoint: join(made, 'pod-2') });
    await files.removeTree(join(made, 'pod'));
    expect(await readdir(made)).toEqual([]);
  });
  test('without a mount table nothing is removed', async () => {
    const blind = new PodFiles({ mounts: () => Promise.reject(new Error('no /proc')) });
    await expect(blind.removeTree(join(made, 'pod'))).rejects.toThrow('cannot remove');
    expect(await readdir(join(made, 'pod/volumes'))).toEqual(['f']);
  });
});
