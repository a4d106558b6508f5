// Attacks on subPaths: whatever a container puts into its volume, and whenever, no bind mount escapes the volume.
import { execFileSync } from 'node:child_process';
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { VolumeFiles } from './volume-files.ts';

describe.runIf(canMount)('bindSubPath', () => {
  let ground: MountDirectory;
  let files: VolumeFiles;
  let volume: string;
  let secret: string;
  const signal = new AbortController().signal;

  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
    volume = join(ground.podsDir, 'u/volumes/kubernetes.io~empty-dir/v');
    secret = join(ground.directory, 'host');
    await mkdir(volume, { recursive: true });
    await mkdir(secret);
    await writeFile(join(secret, 'shadow'), 'secret');
  });
  afterEach(async () => await ground.clear());

  const target = (index = 0): string => join(ground.podsDir, `u/volume-subpaths/v/c/${index}`);
  const bind = async (subPath: string, index = 0): Promise<void> =>
    await files.bindSubPath({ volumePath: volume, subPath, target: target(index), create: true }, signal);

  test('creates a directory with the volume’s mode and bind-mounts it', async () => {
    execFileSync('chmod', ['2775', volume]);
    await bind('a/b');
    await writeFile(join(target(), 'file'), 'x');
    expect(await readFile(join(volume, 'a/b/file'), 'utf8')).toBe('x');
    for (const each of ['a', 'a/b']) expect((await lstat(join(volume, each))).mode & 0o7777).toBe(0o2775);
    expect(await ground.mounts()).toEqual(['pods/u/volume-subpaths/v/c/0']);
  });

  test('mounts once, and mounts again if the entry was replaced', async () => {
    await writeFile(join(volume, 'first'), '1');
    await writeFile(join(volume, 'second'), '2');
    await symlink('first', join(volume, 'current'));
    await bind('current');
    await bind('current');
    expect(await readFile(target(), 'utf8')).toBe('1');
    await rm(join(volume, 'current'));
    await symlink('second', join(volume, 'current'));
    expect(await readFile(target(), 'utf8')).toBe('1');
    await bind('current');
    expect(await readFile(target(), 'utf8')).toBe('2');
    expect(await ground.mounts()).toHaveLength(1);
  });

  const escapes = [
    ['an absolute link', async () => await symlink('/etc', join(volume, 'out'))],
    ['a link with ..', async () => await symlink('../../../../..', join(volume, 'out'))],
    [
      'a link to a link',
      async () => {
        await symlink('inner', join(volume, 'out'));
        await symlink('/etc', join(volume, 'inner'));
      },
    ],
    [
      'a link to the host’s own view of a process',
      async () => await symlink('/proc/self/root', join(volume, 'out')),
    ],
    ['a link to itself', async () => await symlink('out', join(volume, 'out'))],
  ] as const;
  for (const [name, prepare] of escapes)
    for (const subPath of ['out', 'out/deeper'])
      test(`rejects ${name} as ${subPath}`, async () => {
        await prepare();
        await expect(bind(subPath)).rejects.toMatchObject({ kind: 'invalid', reason: 'SubPathEscapes' });
        expect(await ground.mounts()).toEqual([]);
      });

  for (const subPath of ['../../../..', 'a/../../x', '..'])
    test(`rejects the subPath ${subPath}`, async () => {
      await expect(bind(subPath)).rejects.toThrow();
      expect(await ground.mounts()).toEqual([]);
    });

  test('creates no directory through a dangling link', async () => {
    await symlink(join(secret, 'created'), join(volume, 'out'));
    await symlink('nowhere', join(volume, 'dangling'));
    await expect(bind('out/x')).rejects.toMatchObject({ reason: 'SubPathEscapes' });
    await expect(bind('dangling')).rejects.toMatchObject({ reason: 'SubPathNotCreated' });
    expect(await readdir(secret)).toEqual(['shadow']);
    expect(await ground.mounts()).toEqual([]);
  });

  test('bind-mounts a FIFO and a device without opening them', async () => {
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    execFileSync('mknod', [join(volume, 'device'), 'c', '1', '3']);
    await bind('fifo', 0);
    await bind('device', 1);
    expect((await stat(target(0))).isFIFO()).toBe(true);
    expect((await stat(target(1))).isCharacterDevice()).toBe(true);
  });

  test('rejects a file as parent directory', async () => {
    await writeFile(join(volume, 'file'), '');
    await expect(bind('file/x')).rejects.toMatchObject({ reason: 'ENOTDIR' });
  });

  test('never escapes through a link that is swapped in concurrently', async () => {
    await mkdir(join(volume, 'd/inner'), { recursive: true });
    await writeFile(join(volume, 'd/inner/shadow'), 'own');
    await symlink(ground.directory, join(volume, 'evil'));
    await mkdir(join(secret, 'inner'));
    const ended = new AbortController();
    const swap = (async () => {
      while (!ended.signal.aborted) {
        await rename(join(volume, 'd'), join(volume, 'kept'));
        await rename(join(volume, 'evil'), join(volume, 'd'));
        await rename(join(volume, 'd'), join(volume, 'evil'));
        await rename(join(volume, 'kept'), join(volume, 'd'));
      }
    })();
    const ends = { bound: 0, refused: 0 };
    for (let turn = 0; turn < 200; turn++) {
      // `host` is outside the volume and reachable only through the swapped link.
      const subPath = turn % 2 === 0 ? 'd/inner' : 'd/host';
      const attempt = { volumePath: volume, subPath, target: target(turn), create: false };
      const bound = await files.bindSubPath(attempt, signal).then(
        () => true,
        () => false,
      );
      if (bound) expect(await readdir(target(turn))).toEqual(['shadow']);
      if (bound) expect(await readFile(join(target(turn), 'shadow'), 'utf8')).toBe('own');
      ends[bound ? 'bound' : 'refused']++;
    }
    ended.abort();
    await swap;
    expect(ends.bound + ends.refused).toBe(200);
    expect(ends.refused).toBeGreaterThanOrEqual(100);
  }, 120_000);

  test('follows links inside the volume, as in a ConfigMap volume', async () => {
    await mkdir(join(volume, '..2026_01'));
    await writeFile(join(volume, '..2026_01/key'), 'value');
    await symlink('..2026_01', join(volume, '..data'));
    await symlink('..data/key', join(volume, 'key'));
    await bind('key');
    expect(await readFile(target(), 'utf8')).toBe('value');
  });

  test('leaks no descriptor', async () => {
    // Only descriptors of this test: other tests run in the same process.
    const open = async (): Promise<number> => {
      const names = await readdir('/proc/self/fd');
      const paths = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
      return paths.filter((path) => path.startsWith(ground.directory)).length;
    };
    await bind('warm', 0);
    for (let turn = 1; turn < 20; turn++) await bind(`x/${turn}`, turn);
    await symlink('/etc', join(volume, 'out'));
    for (let turn = 0; turn < 20; turn++) await expect(bind('out', 50)).rejects.toThrow();
    expect(await open()).toBe(0);
    expect(await readlink(join(volume, 'out'))).toBe('/etc');
  });
});
