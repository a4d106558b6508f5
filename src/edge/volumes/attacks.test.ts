// An attacker in another process swaps directories and files of a volume for links to the outside, as fast as the kernel permits,
// while the kubelet bind-mounts subPaths, creates directories, applies an fsGroup and removes the volume. Whether the kubelet's
// calls succeed or fail, nothing outside the volume may be mounted, created, changed or removed.
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
    const started = await swapLinks(pairs.map(([good, evil]) => [join(volume, good), join(volume, evil)]));
    attacker = started;
    return () => started.end();
  }

  /** Everything outside is unchanged: names, owners, modes, contents. */
  const expectUntouched = async (): Promise<void> => {
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

  test('subPath: bind-mounts only entries of the volume', async () => {
    const end = await attack(['d', 'evil'], ['file', 'evil-file']);
    const ends = { bound: 0, refused: 0 };
    for (let round = 0; round < 200; round++) {
      const subPath = round % 2 === 0 ? 'd/inner' : 'file';
      const request = { volumePath: volume, subPath, target: target(round), create: false };
      const bound = await files.bindSubPath(request, signal).then(
        () => true,
        () => false,
      );
      ends[bound ? 'bound' : 'refused']++;
      if (!bound) continue;
      if (subPath === 'file') expect(await readFile(target(round), 'utf8')).toBe('mine');
      else expect(await readdir(target(round))).toEqual(['mine']);
      await files.unmount(target(round));
    }
    expect(await end()).toBeGreaterThan(0);
    // Both outcomes occurred; otherwise the test proves nothing.
    expect(Math.min(ends.bound, ends.refused)).toBeGreaterThan(0);
    await expectUntouched();
    expect(await ground.mounts()).toEqual([]);
  }, 120_000);

  test('subPath: creates no directory outside', async () => {
    const end = await attack(['d', 'evil']);
    for (let round = 0; round < 300; round++) {
      const request = {
        volumePath: volume,
        subPath: `d/new-${round}/deep`,
        target: target(round),
        create: true,
      };
      await files.bindSubPath(request, signal).catch(() => undefined);
      await files.unmount(target(round));
    }
    expect(await end()).toBeGreaterThan(0);
    await expectUntouched();
    expect(readdirSync(join(volume, 'd')).length).toBeGreaterThan(1);
  }, 120_000);

  test('subPath: sets the mode of the created directory, not of a link swapped in', async () => {
    chmodSync(volume, 0o777);
    mkdirSync(join(volume, 'private'), { mode: 0o700 });
    const real = await loadMountSyscalls();
    const swapping = {
      ...real,
      openBeneath: async (fd: number, path: string): Promise<number> => {
        // The container acts between two steps of the kubelet.
        if (path === 'created' && existsSync(join(volume, 'created'))) {
          renameSync(join(volume, 'created'), join(volume, 'moved'));
          symlinkSync('private', join(volume, 'created'));
        }
        return await real.openBeneath(fd, path);
      },
    };
    const deps = {
      syscalls: swapping,
      within: async (path: string, create: () => Promise<void>): Promise<boolean> => {
        mkdirSync(join(path, '..'), { recursive: true });
        await create();
        return true;
      },
      isMountPoint: () => Promise.resolve(false),
      unmount: () => Promise.resolve(),
    };
    const request = { volumePath: volume, subPath: 'created', target: target(0), create: true };
    await bindSubPath(deps, request).catch(() => undefined);
    const modes = ['private', 'moved'].map((name) => statSync(join(volume, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o777]);
  });

  test('hostPath DirectoryOrCreate: sets the mode of the created directory, not of a link’s target', async () => {
    const host = join(ground.directory, 'host');
    mkdirSync(host);
    symlinkSync(outside, join(host, 'evil'));
    const started = await swapLinks([[join(host, 'created'), join(host, 'evil')]]);
    attacker = started;
    let createdCount = 0;
    for (let round = 0; round < 300; round++) {
      createdCount += await files.makeDirectory(join(host, 'created'), 0o755).then(Number, () => 0);
      // Neither call follows a link; an entry that one cannot remove is removed by the other, or in the next round.
      for (const name of ['created', 'created.kept'])
        for (const remove of [unlink, rmdir]) await remove(join(host, name)).catch(() => undefined);
    }
    expect(await started.end()).toBeGreaterThan(0);
    expect(createdCount).toBeGreaterThan(0);
    await expectUntouched();
  }, 120_000);

  test('hostPath FileOrCreate: creates no file through a link', async () => {
    symlinkSync(join(outside, 'new'), join(ground.directory, 'file'));
    await files.makeFile(join(ground.directory, 'file'), 0o644);
    await expectUntouched();
  });

  test('fsGroup: changes no group or mode outside', async () => {
    const end = await attack(['d', 'evil'], ['file', 'evil-file']);
    for (let round = 0; round < 150; round++) {
      const request = { path: volume, fsGroup: 2000 + round, readOnly: false, onlyOnRootMismatch: false };
      await files.changeOwnership(request, signal);
    }
    expect(await end()).toBeGreaterThan(0);
    await expectUntouched();
    // The walk completed: the root is changed last.
    expect(statSync(volume).gid).toBe(2149);
  }, 120_000);

  test('removal: removes links, not their targets', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `d-${at}`);
    for (const name of names) {
      mkdirSync(join(volume, name, 'inner/deeper'), { recursive: true });
      for (let at = 0; at < 20; at++) writeFileSync(join(volume, name, `inner/${at}`), '');
      symlinkSync(outside, join(volume, `evil-${name}`));
    }
    const end = await attack(...names.map((name) => [name, `evil-${name}`] as const));
    for (let round = 0; round < 30; round++) await files.removeTree(volume).catch(() => undefined);
    expect(await end()).toBeGreaterThan(0);
    await expectUntouched();
    await files.removeTree(volume);
    expect(existsSync(volume)).toBe(false);
    await expectUntouched();
  }, 120_000);
});
