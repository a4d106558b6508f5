import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { checkBelowPods, PodTree } from './pod-tree.ts';
import { VolumeFiles } from './volume-files.ts';

describe('checkBelowPods', () => {
  const pods = '/var/lib/kubelet/pods';
  const rejected = [
    ['the pods’ directory itself', pods, pods],
    ['a whole pod', pods, `${pods}/u`],
    ['a sibling with the same prefix', pods, `${pods}-old/u/volumes`],
    ['a path outside', pods, '/var/lib/other'],
    ['a path with ..', pods, `${pods}/u/../../../../etc`],
    ['a path with .', pods, `${pods}/u/./volumes`],
    ['a path with an empty element', pods, `${pods}/u//volumes`],
    ['any path without a pods’ directory', '', '/u/volumes'],
    ['any path if the pods’ directory is /', '/', '/u/volumes'],
    ['any path if the pods’ directory is not normalized', '/a/../b', '/a/../b/u/volumes'],
  ] as const;
  for (const [name, podsDir, path] of rejected)
    test(`rejects ${name}`, () => expect(() => checkBelowPods(podsDir, path)).toThrow('refusing to remove'));

  test('accepts a path inside a pod’s directory', () => {
    expect(() => checkBelowPods(pods, `${pods}/u/volumes/k~e/v`)).not.toThrow();
    expect(() => checkBelowPods(pods, `${pods}/u/volumes`)).not.toThrow();
  });
});

describe('removal on disk', () => {
  let ground: MountDirectory;
  let files: VolumeFiles;

  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
  });
  afterEach(async () => await ground.clear());

  const victim = async (): Promise<string> => {
    const path = join(ground.directory, 'victim');
    await mkdir(path);
    await writeFile(join(path, 'keep'), 'me');
    return path;
  };

  test('removes a tree with its links, but not their targets', async () => {
    const outside = await victim();
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(join(volume, 'deep/er'), { recursive: true });
    await writeFile(join(volume, 'deep/er/file'), 'x');
    await symlink(outside, join(volume, 'deep/link'));
    await symlink('/nowhere', join(volume, 'dangling'));
    await files.removeTree(volume);
    await expect(stat(volume)).rejects.toThrow('ENOENT');
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
  });

  test('removes a thousand files in slices, and ignores a missing tree', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(volume, { recursive: true });
    await Promise.all(Array.from({ length: 1_000 }, (_, at) => writeFile(join(volume, `f${at}`), '')));
    await files.removeTree(volume);
    await files.removeTree(volume);
    await files.removeTree(join(ground.podsDir, 'other/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
  });

  test('rejects a link in place of a parent directory', async () => {
    const outside = await victim();
    await mkdir(join(ground.podsDir, 'u'));
    await symlink(outside, join(ground.podsDir, 'u/volumes'));
    await expect(files.removeTree(join(ground.podsDir, 'u/volumes/keep'))).rejects.toThrow('not a directory');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/volumes/keep'))).rejects.toThrow(
      'not a directory',
    );
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
  });

  test('removes a link in place of the tree without following it', async () => {
    const outside = await victim();
    await mkdir(join(ground.podsDir, 'u/volumes'), { recursive: true });
    await symlink(outside, join(ground.podsDir, 'u/volumes/v'));
    await files.removeTree(join(ground.podsDir, 'u/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
  });

  test('accepts a pods’ directory behind a link', async () => {
    await symlink(ground.podsDir, join(ground.directory, 'link'));
    const linked = new VolumeFiles({ podsDir: join(ground.directory, 'link'), now: () => 0 });
    await mkdir(join(ground.podsDir, 'u/volumes/v'), { recursive: true });
    await linked.removeTree(join(ground.directory, 'link/u/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
  });

  test('removeEmpty rejects a file or directory with content', async () => {
    await mkdir(join(ground.podsDir, 'u/full'), { recursive: true });
    await writeFile(join(ground.podsDir, 'u/full/file'), 'x');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/full'))).rejects.toThrow('cannot remove');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/full/file'))).rejects.toThrow('it is not empty');
  });

  test.runIf(canMount)('removes nothing through a mount of another or the same file system', async () => {
    const outside = await victim();
    const volume = join(ground.podsDir, 'u/volumes/v');
    for (const kind of ['bind', 'tmpfs'] as const) {
      await mkdir(join(volume, 'in/side'), { recursive: true });
      if (kind === 'bind') await files.bind(outside, join(volume, 'in/side'), { readOnly: false });
      else await files.mountTmpfs(join(volume, 'in/side'), 1_048_576n);
      await expect(files.removeTree(volume)).rejects.toMatchObject({
        kind: 'conflict',
        reason: 'MountBusy',
      });
      expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
      await files.unmount(join(volume, 'in/side'));
      await files.removeTree(volume);
    }
  });

  test.runIf(canMount)('stops at a mount that the mount table does not show', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(join(volume, 'in/side'), { recursive: true });
    await files.mountTmpfs(join(volume, 'in/side'), 1_048_576n);
    await writeFile(join(volume, 'in/side/keep'), 'me');
    const blind = new PodTree({ podsDir: ground.podsDir, mountsBelow: () => Promise.resolve([]) });
    await expect(blind.removeTree(volume)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await readFile(join(volume, 'in/side/keep'), 'utf8')).toBe('me');
  });

  test('removes markers and empty directories with their parent, and ignores missing ones', async () => {
    const mark = join(ground.podsDir, 'u/plugins/k/wrapped_v');
    await mkdir(mark, { recursive: true });
    await writeFile(join(mark, 'ready'), '');
    for (let turn = 0; turn < 2; turn++) await files.removeFiles(mark, ['ready']);
    expect(await readdir(join(ground.podsDir, 'u/plugins/k'))).toEqual([]);
    await mkdir(join(ground.podsDir, 'u/volumes/a'), { recursive: true });
    await mkdir(join(ground.podsDir, 'u/volumes/b'));
    for (let turn = 0; turn < 2; turn++)
      await files.removeEmptyDirectories(join(ground.podsDir, 'u/volumes'), ['a', 'b', 'none']);
    expect(await readdir(join(ground.podsDir, 'u'))).toEqual(['plugins']);
  });

  test('reports other content and keeps it', async () => {
    const volumes = join(ground.podsDir, 'u/volumes');
    await mkdir(join(volumes, 'a/full'), { recursive: true });
    await mkdir(join(volumes, 'b'));
    await writeFile(join(volumes, 'file'), '');
    await expect(files.removeEmptyDirectories(volumes, ['a', 'b'])).rejects.toThrow('cannot remove');
    await expect(files.removeEmptyDirectories(volumes, ['file'])).rejects.toThrow('cannot remove');
    await expect(files.removeFiles(volumes, ['a'])).rejects.toThrow('cannot remove');
    await expect(files.removeFiles(volumes, [])).rejects.toThrow('cannot remove');
    expect((await readdir(volumes)).sort()).toEqual(['a', 'file']);
    expect(await readdir(join(volumes, 'a'))).toEqual(['full']);
  });

  test('every removal rejects a link as parent or in place of the directory', async () => {
    const outside = await victim();
    await mkdir(join(outside, 'empty/inner'), { recursive: true });
    await mkdir(join(ground.podsDir, 'u'));
    await symlink(outside, join(ground.podsDir, 'u/volumes'));
    const way = join(ground.podsDir, 'u/volumes');
    const removals = [
      files.removeFiles(way, ['keep']),
      files.removeFiles(join(way, 'empty'), []),
      files.removeEmptyDirectories(way, ['empty']),
      files.removeEmptyDirectories(join(way, 'empty'), ['inner']),
      files.removeTree(join(way, 'empty')),
      ...(['mount', 'empty', 'own-files'] as const).map((remains) =>
        files.removeVolume(join(way, 'empty'), remains),
      ),
    ];
    for (const end of await Promise.allSettled(removals))
      expect(String(end.status === 'rejected' && end.reason)).toContain('not a directory');
    expect((await readdir(outside)).sort()).toEqual(['empty', 'keep']);
    expect(await readdir(join(outside, 'empty'))).toEqual(['inner']);
  });

  test('rejects a file in place of a parent directory', async () => {
    await mkdir(join(ground.podsDir, 'u'));
    await writeFile(join(ground.podsDir, 'u/volumes'), 'x');
    await expect(files.removeTree(join(ground.podsDir, 'u/volumes/a/b'))).rejects.toThrow('not a directory');
    expect(await readFile(join(ground.podsDir, 'u/volumes'), 'utf8')).toBe('x');
  });

  test('follows a pods’ directory that was moved and replaced by a link', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(volume, { recursive: true });
    await files.removeTree(volume);
    await rename(ground.podsDir, join(ground.directory, 'moved'));
    await symlink('moved', ground.podsDir);
    await mkdir(join(volume, 'deep'), { recursive: true });
    await files.removeTree(volume);
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
  });

  const remains = ['mount', 'empty', 'own-files'] as const;
  for (const each of remains) {
    test(`removes a volume expected as ${each} in any state: empty, with content, a link`, async () => {
      const outside = await victim();
      const volume = join(ground.podsDir, 'u/volumes/v');
      await mkdir(volume, { recursive: true });
      await files.removeVolume(volume, each);
      await mkdir(join(volume, '..2026/sub'), { recursive: true });
      await writeFile(join(volume, '..2026/sub/file'), 'x');
      await symlink('..2026', join(volume, '..data'));
      await files.removeVolume(volume, each);
      await symlink(outside, volume);
      await files.removeVolume(volume, each);
      await files.removeVolume(volume, each);
      expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
      expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
    });

    test.runIf(canMount)(
      `unmounts all layers of a volume expected as ${each} before its removal`,
      async () => {
        const outside = await victim();
        const volume = join(ground.podsDir, 'u/volumes/v');
        await mkdir(volume, { recursive: true });
        await files.mountTmpfs(volume, 1_048_576n);
        await files.bind(outside, volume, { readOnly: false });
        await files.mountTmpfs(volume, 1_048_576n);
        await writeFile(join(volume, 'gone'), 'x');
        await files.removeVolume(volume, each);
        expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
        expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
        expect(await ground.mounts()).toEqual([]);
      },
    );

    test.runIf(canMount)(`does not unmount a mount inside a volume expected as ${each}`, async () => {
      const outside = await victim();
      const volume = join(ground.podsDir, 'u/volumes/v');
      // A bind mount of the same file system differs only in its mount ID.
      for (const at of ['in/side', 'file']) {
        await mkdir(join(volume, 'in/side'), { recursive: true });
        await writeFile(join(volume, 'file'), '');
        const source = at === 'file' ? join(outside, 'keep') : outside;
        await files.bind(source, join(volume, at), { readOnly: false });
        await expect(files.removeVolume(volume, each)).rejects.toMatchObject({ kind: 'conflict' });
        expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
        expect(await ground.mounts()).toHaveLength(1);
        await files.unmount(join(volume, at));
        await files.removeVolume(volume, each);
        expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
      }
    });
  }

  test.runIf(canMount)('reports a volume in use as a conflict and keeps it', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(volume, { recursive: true });
    await files.mountTmpfs(volume, 1_048_576n);
    const held = await open(join(volume, 'held'), 'w');
    for (const each of remains)
      await expect(files.removeVolume(volume, each)).rejects.toMatchObject({ kind: 'conflict' });
    await held.close();
    await files.removeVolume(volume, 'mount');
    expect(await ground.mounts()).toEqual([]);
  });

  test.runIf(canMount)(
    'stops at a bind mount of the same file system that the mount table does not show',
    async () => {
      const outside = await victim();
      const volume = join(ground.podsDir, 'u/volumes/v');
      await mkdir(join(volume, 'in/side'), { recursive: true });
      await files.bind(outside, join(volume, 'in/side'), { readOnly: false });
      const blind = new PodTree({ podsDir: ground.podsDir, mountsBelow: () => Promise.resolve([]) });
      await expect(blind.removeTree(volume)).rejects.toMatchObject({ kind: 'conflict', reason: 'MountBusy' });
      expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
    },
  );

  test('leaks no descriptor, on success or failure', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(join(volume, 'a/b'), { recursive: true });
    await symlink('/etc', join(ground.podsDir, 'u/link'));
    await files.removeTree(join(ground.podsDir, 'u/link/x')).catch(() => undefined);
    await files.removeEmpty(join(ground.podsDir, 'u/volumes')).catch(() => undefined);
    await files.removeTree(volume);
    const opened = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        // The descriptor of this listing.
        return '';
      }
    });
    expect(opened.filter((path) => path.startsWith(ground.directory))).toEqual([]);
  });
});
