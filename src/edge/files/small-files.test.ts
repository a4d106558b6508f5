import { execFileSync } from 'node:child_process';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createDirectory,
  createFile,
  readKernelValue,
  readSmallFile,
  rewriteFile,
  writeKernelFile,
} from './small-files.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'small-files-'));
});
afterEach(async () => await rm(dir, { recursive: true }));

describe('createFile', () => {
  for (const mode of [0o600, 0o644, 0o666, 0o777, 0o4755]) {
    test(`mode ${mode.toString(8)} is independent of the umask`, async () => {
      await createFile(join(dir, 'f'), { data: 'text', mode });
      expect((await stat(join(dir, 'f'))).mode & 0o7777).toBe(mode);
      expect(await readFile(join(dir, 'f'), 'utf8')).toBe('text');
    });
  }
  test('sets the owner and keeps the mode', async () => {
    const uid = process.getuid?.() === 0 ? 4242 : (process.getuid?.() ?? 0);
    await createFile(join(dir, 'f'), { data: new Uint8Array([1, 2]), mode: 0o4750, owner: uid });
    const created = await stat(join(dir, 'f'));
    expect([created.uid, created.mode & 0o7777, created.size]).toEqual([uid, 0o4750, 2]);
  });
  test('writes large content completely', async () => {
    const data = Buffer.alloc(3_000_000, 'ab');
    await createFile(join(dir, 'f'), { data, mode: 0o600 });
    expect((await readFile(join(dir, 'f'))).equals(data)).toBe(true);
  });
  test('does not replace an existing file or link', async () => {
    await writeFile(join(dir, 'f'), 'old');
    await symlink(join(dir, 'target'), join(dir, 'link'));
    for (const name of ['f', 'link'])
      await expect(createFile(join(dir, name), { data: 'new', mode: 0o600 })).rejects.toMatchObject({
        code: 'EEXIST',
      });
    expect(await readFile(join(dir, 'f'), 'utf8')).toBe('old');
    await expect(lstat(join(dir, 'target'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
  test('reports errors and leaves no descriptor open', async () => {
    const before = await openDescriptors();
    await expect(createFile('/dev/full/f', { data: 'x', mode: 0o600 })).rejects.toMatchObject({
      code: 'ENOTDIR',
    });
    await expect(writeKernelFile('/dev/full', 'x')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await openDescriptors()).toBe(before);
  });
});

describe('createDirectory', () => {
  for (const mode of [0o700, 0o750, 0o755, 0o777, 0o1777, 0o2775]) {
    test(`mode ${mode.toString(8)} is independent of the umask`, async () => {
      await createDirectory(join(dir, 'd'), mode);
      expect((await stat(join(dir, 'd'))).mode & 0o7777).toBe(mode);
    });
  }
  test('sets the mode below a directory with the setgid bit', async () => {
    await createDirectory(join(dir, 'd'), 0o2755);
    await createDirectory(join(dir, 'd/e'), 0o755);
    expect((await stat(join(dir, 'd/e'))).mode & 0o7777).toBe(0o755);
  });
  test('does not change an existing directory or link', async () => {
    await mkdir(join(dir, 'd'), 0o700);
    await symlink(join(dir, 'target'), join(dir, 'link'));
    for (const name of ['d', 'link'])
      await expect(createDirectory(join(dir, name), 0o777)).rejects.toMatchObject({ code: 'EEXIST' });
    expect((await stat(join(dir, 'd'))).mode & 0o777).toBe(0o700);
    await expect(createDirectory(join(dir, 'none/d'), 0o777)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('rewriteFile', () => {
  const path = (): string => join(dir, 'f');
  test('keeps the inode of a file whose text changed, and sets its mode', async () => {
    await writeFile(path(), 'a longer text', { mode: 0o600 });
    const { ino } = await stat(path());
    await rewriteFile(path(), 'text', 0o644);
    const after = await stat(path());
    expect([await readFile(path(), 'utf8'), after.ino, after.mode & 0o777]).toEqual(['text', ino, 0o644]);
  });
  test('writes neither through a symbolic link nor to a file with several names', async () => {
    await writeFile(join(dir, 'other'), 'theirs');
    await symlink(join(dir, 'other'), path());
    await link(join(dir, 'other'), join(dir, 'hard'));
    for (const name of ['f', 'hard'])
      await expect(rewriteFile(join(dir, name), 'mine', 0o666)).rejects.toMatchObject({ reason: 'NotAFile' });
    expect(await readFile(join(dir, 'other'), 'utf8')).toBe('theirs');
  });
});

describe('readSmallFile', () => {
  const small = { limitBytes: 100_000 };
  for (const length of [0, 1, 4095, 4096, 4097, 100_000]) {
    test(`reads ${length} bytes`, async () => {
      await writeFile(join(dir, 'f'), 'x'.repeat(length));
      expect(await readSmallFile(join(dir, 'f'), small)).toHaveLength(length);
    });
  }
  test('reads a kernel file that is longer than one read', async () => {
    expect(await readSmallFile('/proc/kallsyms', { limitBytes: 64 * 1024 * 1024 })).toMatch(/\n$/);
  });
  test('rejects a sparse file of gigabytes without reading it', async () => {
    await writeFile(join(dir, 'f'), '');
    await truncate(join(dir, 'f'), 3 * 1024 ** 3);
    const before = process.memoryUsage().rss;
    await expect(readSmallFile(join(dir, 'f'), small)).rejects.toMatchObject({ reason: 'TooLarge' });
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
  });
  test('stops at the limit in a file whose size the kernel does not report', async () => {
    await expect(readSmallFile('/proc/kallsyms', small)).rejects.toMatchObject({ reason: 'TooLarge' });
  });
  test('opens neither links nor FIFOs nor devices', async () => {
    await writeFile(join(dir, 'f'), 'secret');
    await symlink(join(dir, 'f'), join(dir, 'link'));
    execFileSync('mkfifo', [join(dir, 'fifo')]);
    for (const path of [join(dir, 'link'), join(dir, 'fifo'), '/dev/zero', dir])
      await expect(readSmallFile(path, small)).rejects.toMatchObject({ reason: 'NotAFile' });
    expect(await readSmallFile(join(dir, 'link'), { ...small, followLinks: true })).toBe('secret');
    for (const path of [join(dir, 'fifo'), '/dev/zero', dir])
      await expect(readSmallFile(path, { ...small, followLinks: true })).rejects.toMatchObject({
        reason: 'NotAFile',
      });
  });
  test('fails with ENOENT for a missing file', async () => {
    await expect(readSmallFile(join(dir, 'f'), small)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('reads kernel values, and writes them to existing files only', async () => {
  expect(await readKernelValue('/proc/sys/kernel/ostype')).toBe('Linux\n');
  await expect(writeKernelFile(join(dir, 'none'), '1')).rejects.toMatchObject({ code: 'ENOENT' });
  await writeFile(join(dir, 'f'), 'longer than before');
  await writeKernelFile(join(dir, 'f'), '2');
  expect(await readFile(join(dir, 'f'), 'utf8')).toBe('2');
});

async function openDescriptors(): Promise<number> {
  return (await readdir('/proc/self/fd')).length;
}
