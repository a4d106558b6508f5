// An attacker in a process of its own swaps directories and files of a volume for links that lead out, as fast as the kernel
// lets it, while the kubelet binds sub-paths, makes directories, gives files to a group and removes the volume. Whatever the
// kubelet's calls end with, nothing outside the volume may be mounted, made, changed or removed.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readdir, readFile, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LinkSwapper, swapLinks } from '../../../test/clients/link-swapper.ts';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { loadMountSyscalls } from '../mount/mount-syscalls.ts';
import { bindSubPath } from './sub-path.ts';
import { VolumeFiles } from './volume-files.ts';

describe.runIf(canMount)('a volume under attack (root needed)', () => {
  const signal = new AbortController().signal;
  let ground: MountDirectory;
  let files: VolumeFiles;
  let volume: string;
  let outside: string;
  let attacker: LinkSwapper | undefined;

  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
    volume = join(ground.podsDir, 'u/volumes/kubernetes.io~empty-dir/v');
    outside = join(ground.directory, 'outside');
    for (const path of [volume, join(volume, 'd/inner'), join(outside, 'inner')])
      mkdirSync(path, { recursive: true });
    writeFileSync(join(volume, 'd/inner/mine'), 'mine');
    writeFileSync(join(volume, 'file'), 'mine');
    writeFileSync(join(outside, 'inner/theirs'), 'theirs', { mode: 0o600 });
    writeFileSync(join(outside, 'secret'), 'theirs', { mode: 0o600 });
    chmodSync(outside, 0o700);
    chmodSync(join(outside, 'inner'), 0o700);
    symlinkSync(outside, join(volume, 'evil'));
    symlinkSync(join(outside, 'secret'), join(volume, 'evil-file'));
  });
  afterEach(async () => {
    attacker?.kill();
    await ground.clear();
  });

  async function attack(...pairs: readonly (readonly [string, string])[]): Promise<() => Promise<number>> {
    const begun = await swapLinks(pairs.map(([good, evil]) => [join(volume, good), join(volume, evil)]));
    attacker = begun;
    return () => begun.end();
  }

  /** Everything outside, as it was made: names, owners, modes, contents. */
  const untouched = async (): Promise<void> => {
    expect(readdirSync(outside).sort()).toEqual(['inner', 'secret']);
    expect(readdirSync(join(outside, 'inner'))).toEqual(['theirs']);
    for (const [name, mode] of [
      ['.', 0o700],
      ['inner', 0o700],
      ['secret', 0o600],
      ['inner/theirs', 0o600],
    ] as const) {
      const stat = statSync(join(outside, name));
      expect([name, stat.uid, stat.gid, stat.mode & 0o7777]).toEqual([name, 0, 0, mode]);
    }
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('theirs');
  };
  const target = (index: number): string => join(ground.podsDir, `u/volume-subpaths/v/c/${index}`);

  test('sub-paths: what is bound is the volume’s own, however often it is tried', async () => {
    const end = await attack(['d', 'evil'], ['file', 'evil-file']);
    const ends = { bound: 0, refused: 0 };
    for (let turn = 0; turn < 200; turn++) {
      const subPath = turn % 2 === 0 ? 'd/inner' : 'file';
      const request = { volumePath: volume, subPath, target: target(turn), create: false };
      const bound = await files.bindSubPath(request, signal).then(
        () => true,
        () => false,
      );
      ends[bound ? 'bound' : 'refused']++;
      if (!bound) continue;
      if (subPath === 'file') expect(await readFile(target(turn), 'utf8')).toBe('mine');
      else expect(await readdir(target(turn))).toEqual(['mine']);
      await files.unmount(target(turn));
    }
    expect(await end()).toBeGreaterThan(0);
    // Both happened, otherwise nothing was tested.
    expect(Math.min(ends.bound, ends.refused)).toBeGreaterThan(0);
    await untouched();
    expect(await ground.mounts()).toEqual([]);
  }, 120_000);

  test('sub-paths that are made: nothing is made outside', async () => {
    const end = await attack(['d', 'evil']);
    for (let turn = 0; turn < 300; turn++) {
      const request = {
        volumePath: volume,
        subPath: `d/new-${turn}/deep`,
        target: target(turn),
        create: true,
      };
      await files.bindSubPath(request, signal).catch(() => undefined);
      await files.unmount(target(turn));
    }
    expect(await end()).toBeGreaterThan(0);
    await untouched();
    expect(readdirSync(join(volume, 'd')).length).toBeGreaterThan(1);
  }, 120_000);

  test('sub-paths that are made: the mode goes to what was made, not to a link in its place', async () => {
    chmodSync(volume, 0o777);
    mkdirSync(join(volume, 'private'), { mode: 0o700 });
    const real = await loadMountSyscalls();
    const swapping = {
      ...real,
      openBeneath: async (fd: number, path: string): Promise<number> => {
        // The container acts between the two steps of the kubelet.
        if (path === 'made' && existsSync(join(volume, 'made'))) {
          renameSync(join(volume, 'made'), join(volume, 'moved'));
          symlinkSync('private', join(volume, 'made'));
        }
        return await real.openBeneath(fd, path);
      },
    };
    const deps = {
      syscalls: swapping,
      within: async (path: string, make: () => Promise<void>): Promise<boolean> => {
        mkdirSync(join(path, '..'), { recursive: true });
        await make();
        return true;
      },
      isMountPoint: () => Promise.resolve(false),
      unmount: () => Promise.resolve(),
    };
    const request = { volumePath: volume, subPath: 'made', target: target(0), create: true };
    await bindSubPath(deps, request).catch(() => undefined);
    const modes = ['private', 'moved'].map((name) => statSync(join(volume, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o777]);
  });

  test('hostPath DirectoryOrCreate: the mode goes to what was made, not to what a link leads to', async () => {
    const host = join(ground.directory, 'host');
    mkdirSync(host);
    symlinkSync(outside, join(host, 'evil'));
    const begun = await swapLinks([[join(host, 'made'), join(host, 'evil')]]);
    attacker = begun;
    let made = 0;
    for (let turn = 0; turn < 300; turn++) {
      made += await files.makeDirectory(join(host, 'made'), 0o755).then(Number, () => 0);
      // Neither call follows a link that is swapped in meanwhile; what one cannot remove, the other or the next turn does.
      for (const name of ['made', 'made.kept'])
        for (const remove of [unlink, rmdir]) await remove(join(host, name)).catch(() => undefined);
    }
    expect(await begun.end()).toBeGreaterThan(0);
    expect(made).toBeGreaterThan(0);
    await untouched();
  }, 120_000);

  test('hostPath FileOrCreate: no file is made where a link leads', async () => {
    symlinkSync(join(outside, 'new'), join(ground.directory, 'file'));
    await files.makeFile(join(ground.directory, 'file'), 0o644);
    await untouched();
  });

  test('fsGroup: neither directories nor files outside change their group or mode', async () => {
    const end = await attack(['d', 'evil'], ['file', 'evil-file']);
    for (let turn = 0; turn < 150; turn++) {
      const request = { path: volume, fsGroup: 2000 + turn, readOnly: false, onlyOnRootMismatch: false };
      await files.changeOwnership(request, signal);
    }
    expect(await end()).toBeGreaterThan(0);
    await untouched();
    // And it did its work: the root comes last.
    expect(statSync(volume).gid).toBe(2149);
  }, 120_000);

  test('removal: links go, what they lead to stays', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `d-${at}`);
    for (const name of names) {
      mkdirSync(join(volume, name, 'inner/deeper'), { recursive: true });
      for (let at = 0; at < 20; at++) writeFileSync(join(volume, name, `inner/${at}`), '');
      symlinkSync(outside, join(volume, `evil-${name}`));
    }
    const end = await attack(...names.map((name) => [name, `evil-${name}`] as const));
    for (let turn = 0; turn < 30; turn++) await files.removeTree(volume).catch(() => undefined);
    expect(await end()).toBeGreaterThan(0);
    await untouched();
    await files.removeTree(volume);
    expect(existsSync(volume)).toBe(false);
    await untouched();
  }, 120_000);
});
