import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { checkBelowPods, PodTree } from './pod-tree.ts';
import { VolumeFiles } from './volume-files.ts';

describe('what may be removed', () => {
  const pods = '/var/lib/kubelet/pods';
  const refused = [
    ['the pods’ directory itself', pods, pods],
    ['a whole pod', pods, `${pods}/u`],
    ['a neighbour whose name begins alike', pods, `${pods}-old/u/volumes`],
    ['somewhere else', pods, '/var/lib/other'],
    ['by ..', pods, `${pods}/u/../../../../etc`],
    ['by .', pods, `${pods}/u/./volumes`],
    ['an empty element', pods, `${pods}/u//volumes`],
    ['with no pods’ directory', '', '/u/volumes'],
    ['with the root as pods’ directory', '/', '/u/volumes'],
    ['with a pods’ directory that is not plain', '/a/../b', '/a/../b/u/volumes'],
  ] as const;
  for (const [name, podsDir, path] of refused)
    test(`refused: ${name}`, () => expect(() => checkBelowPods(podsDir, path)).toThrow('refusing to remove'));

  test('what is in a pod’s directory may', () => {
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

  test('a tree goes with its links, and what they point to stays', async () => {
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

  test('a thousand files go in slices; nothing there is fine', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(volume, { recursive: true });
    await Promise.all(Array.from({ length: 1_000 }, (_, at) => writeFile(join(volume, `f${at}`), '')));
    await files.removeTree(volume);
    await files.removeTree(volume);
    await files.removeTree(join(ground.podsDir, 'other/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
  });

  test('a link in the place of a directory on the way is refused', async () => {
    const outside = await victim();
    await mkdir(join(ground.podsDir, 'u'));
    await symlink(outside, join(ground.podsDir, 'u/volumes'));
    await expect(files.removeTree(join(ground.podsDir, 'u/volumes/keep'))).rejects.toThrow('not a directory');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/volumes/keep'))).rejects.toThrow(
      'not a directory',
    );
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
  });

  test('a link in the place of the tree is removed, not followed', async () => {
    const outside = await victim();
    await mkdir(join(ground.podsDir, 'u/volumes'), { recursive: true });
    await symlink(outside, join(ground.podsDir, 'u/volumes/v'));
    await files.removeTree(join(ground.podsDir, 'u/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('me');
  });

  test('the pods’ directory may lie behind a link', async () => {
    await symlink(ground.podsDir, join(ground.directory, 'link'));
    const linked = new VolumeFiles({ podsDir: join(ground.directory, 'link'), now: () => 0 });
    await mkdir(join(ground.podsDir, 'u/volumes/v'), { recursive: true });
    await linked.removeTree(join(ground.directory, 'link/u/volumes/v'));
    expect(await readdir(join(ground.podsDir, 'u/volumes'))).toEqual([]);
  });

  test('what has content is not removed as empty', async () => {
    await mkdir(join(ground.podsDir, 'u/full'), { recursive: true });
    await writeFile(join(ground.podsDir, 'u/full/file'), 'x');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/full'))).rejects.toThrow('cannot remove');
    await expect(files.removeEmpty(join(ground.podsDir, 'u/full/file'))).rejects.toThrow('it is not empty');
  });

  test.runIf(canMount)(
    'nothing is removed through a mount, of another file system or of the same',
    async () => {
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
    },
  );

  test.runIf(canMount)('a mount that the table does not tell of stops the walk', async () => {
    const volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(join(volume, 'in/side'), { recursive: true });
    await files.mountTmpfs(join(volume, 'in/side'), 1_048_576n);
    await writeFile(join(volume, 'in/side/keep'), 'me');
    const blind = new PodTree({ podsDir: ground.podsDir, mountsBelow: () => Promise.resolve([]) });
    await expect(blind.removeTree(volume)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await readFile(join(volume, 'in/side/keep'), 'utf8')).toBe('me');
  });

  test('marks and empty directories go with the directory they are in; nothing there is fine', async () => {
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

  test('what is more than that stays, and is told', async () => {
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

  test('a link on the way, or in the place of the directory itself, is refused whatever is to go', async () => {
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

  test('a file on the way is refused like a link', async () => {
    await mkdir(join(ground.podsDir, 'u'));
    await writeFile(join(ground.podsDir, 'u/volumes'), 'x');
    await expect(files.removeTree(join(ground.podsDir, 'u/volumes/a/b'))).rejects.toThrow('not a directory');
    expect(await readFile(join(ground.podsDir, 'u/volumes'), 'utf8')).toBe('x');
  });

  test('the pods’ directory may be moved meanwhile, with a link where it was', async () => {
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
    test(`a volume of which ${each} is expected goes whatever it is: empty, with content, a link`, async () => {
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

    test.runIf(canMount)(`a volume of which ${each} is expected is unmounted first, all layers`, async () => {
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
    });

    test.runIf(canMount)(`a mount in a volume of which ${each} is expected is not ours to undo`, async () => {
      const outside = await victim();
      const volume = join(ground.podsDir, 'u/volumes/v');
      // From the same file system: nothing but the kernel's word tells that it is a mount.
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

  test.runIf(canMount)('a volume in use is a conflict, and stays', async () => {
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
    'a bind of the same file system that the table does not tell of stops the walk',
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

  test('no descriptor is left, whether it went well or not', async () => {
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
        // The one by which this was listed.
        return '';
      }
    });
    expect(opened.filter((path) => path.startsWith(ground.directory))).toEqual([]);
  });
});
