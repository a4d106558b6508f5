import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountGround, mountGround } from '../../testing/mount-ground.ts';
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
  let ground: MountGround;
  let files: VolumeFiles;

  beforeEach(async () => {
    ground = await mountGround();
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
    await expect(files.removeEmpty(join(ground.podsDir, 'u/full/file'))).rejects.toThrow('it has content');
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
});
