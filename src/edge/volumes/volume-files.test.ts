import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { link, lstat, mkdir, open, readFile, statfs, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { VolumeFiles } from './volume-files.ts';

let ground: MountDirectory;
let files: VolumeFiles;
const signal = new AbortController().signal;
beforeEach(async () => {
  ground = await mountDirectory();
  files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
});
afterEach(async () => await ground.clear());

describe('directories and file kinds', () => {
  test('creates a directory with its mode and leaves an existing one unchanged', async () => {
    const path = join(ground.podsDir, 'u/volumes/v');
    expect(await files.makeDirectory(path, 0o777)).toBe(true);
    expect((await lstat(path)).mode & 0o777).toBe(0o777);
    expect((await lstat(join(ground.podsDir, 'u'))).mode & 0o777).toBe(0o750);
    await files.setMode(path, 0o700);
    expect(await files.makeDirectory(path, 0o777)).toBe(false);
    expect((await lstat(path)).mode & 0o777).toBe(0o700);
  });

  test('reports a file or link in place of a directory', async () => {
    await writeFile(join(ground.podsDir, 'file'), '');
    await symlink('/etc', join(ground.podsDir, 'link'));
    await expect(files.makeDirectory(join(ground.podsDir, 'file'), 0o755)).rejects.toThrow(
      'is not a directory',
    );
    await expect(files.makeDirectory(join(ground.podsDir, 'link'), 0o755)).rejects.toThrow(
      'is not a directory',
    );
  });

  test('kindOf reports the kinds that hostPath distinguishes', async () => {
    await writeFile(join(ground.directory, 'file'), '');
    await symlink('file', join(ground.directory, 'link'));
    await symlink('nowhere', join(ground.directory, 'dangling'));
    execFileSync('mkfifo', [join(ground.directory, 'fifo')]);
    const kinds = await Promise.all(
      ['file', 'link', 'dangling', 'fifo', 'pods', 'none', 'file/x'].map((name) =>
        files.kindOf(join(ground.directory, name)),
      ),
    );
    expect(kinds).toEqual(['file', 'file', 'link', 'other', 'directory', undefined, undefined]);
    expect(await files.kindOf('/dev/null')).toBe('character-device');
  });
});

describe.runIf(canMount)('mounts', () => {
  const volume = async (name: string): Promise<string> => {
    const path = join(ground.podsDir, 'u/volumes', name);
    await mkdir(path, { recursive: true });
    return path;
  };

  test('mounts a tmpfs of the requested size', async () => {
    const path = await volume('m');
    await files.mountTmpfs(path, 8_388_608n);
    const { blocks, bsize } = await statfs(path);
    expect(blocks * bsize).toBe(8_388_608);
    expect(await files.mountsBelow(path)).toEqual([{ path, fsType: 'tmpfs' }]);
  });

  test.runIf(existsSync('/sys/kernel/mm/hugepages/hugepages-2048kB'))('mounts hugetlbfs', async () => {
    const path = await volume('pages');
    await files.mountHugePages(path, 2_097_152n);
    expect(await files.mountsBelow(path)).toEqual([{ path, fsType: 'hugetlbfs' }]);
    expect(await files.isMountedAs(path, 'hugetlbfs')).toBe(true);
    expect(await files.isMountedAs(path, 'tmpfs')).toBe(false);
    await expect(files.mountHugePages(path, 12_345n)).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('reports the mounts on a path with their types, including stacked ones', async () => {
    const path = await volume('layers');
    expect(await files.isMountedAs(path, 'tmpfs')).toBe(false);
    expect(await files.isMountedAs(join(path, 'none'), 'tmpfs')).toBe(false);
    expect(await files.isMountedAs(join(path, 'none/x'), 'tmpfs')).toBe(false);
    await files.mountTmpfs(path, 1_048_576n);
    expect(await files.isMountedAs(path, 'tmpfs')).toBe(true);
    expect(await files.isMountedAs(path, 'hugetlbfs')).toBe(false);
    await mkdir(join(path, 'inside'));
    expect(await files.isMountedAs(join(path, 'inside'), 'tmpfs')).toBe(false);
    await files.mountTmpfs(join(path, 'inside'), 1_048_576n);
    expect(await files.isMountedAs(join(path, 'inside'), 'tmpfs')).toBe(true);
    await files.unmount(join(path, 'inside'));
    await files.bind(await volume('source'), path, { readOnly: false });
    expect(await files.isMountedAs(path, 'tmpfs')).toBe(false);
    await files.unmount(path);
    await symlink('layers', join(ground.podsDir, 'u/volumes/link'));
    expect(await files.isMountedAs(join(ground.podsDir, 'u/volumes/link'), 'tmpfs')).toBe(false);
  });

  test('finds names with spaces and backslashes in the mount table', async () => {
    const path = await volume('with blank\\and\ttab');
    await files.mountTmpfs(path, 1_048_576n);
    expect(await files.mountsBelow(join(ground.podsDir, 'u'))).toEqual([{ path, fsType: 'tmpfs' }]);
    await files.unmount(path);
    expect(await files.mountsBelow(path)).toEqual([]);
  });

  test('does not report a sibling with the same prefix as below', async () => {
    const path = await volume('v-2');
    await files.mountTmpfs(path, 1_048_576n);
    expect(await files.mountsBelow(join(ground.podsDir, 'u/volumes/v'))).toEqual([]);
  });

  test('reports mounts under the requested path if the root directory is behind a link', async () => {
    await symlink(ground.podsDir, join(ground.directory, 'link'));
    const linked = new VolumeFiles({ podsDir: join(ground.directory, 'link'), now: () => 0 });
    await files.mountTmpfs(await volume('v'), 1_048_576n);
    const path = join(ground.directory, 'link/u/volumes/v');
    expect(await linked.mountsBelow(path)).toEqual([{ path, fsType: 'tmpfs' }]);
    await linked.unmount(path);
    expect(await ground.mounts()).toEqual([]);
  });

  test('bind-mounts read-only, unmounts all layers, and ignores a path that is not mounted', async () => {
    const source = await volume('source');
    const target = await volume('target');
    await writeFile(join(source, 'file'), 'x');
    await files.bind(source, target, { readOnly: true });
    expect(await readFile(join(target, 'file'), 'utf8')).toBe('x');
    await expect(writeFile(join(target, 'file'), 'y')).rejects.toThrow('EROFS');
    await files.bind(source, target, { readOnly: false });
    await files.unmount(target);
    expect(await ground.mounts()).toEqual([]);
    await files.unmount(target);
    await files.unmount(join(target, 'none'));
  });

  test('reports a mount in use as a conflict and keeps it', async () => {
    const path = await volume('busy');
    await files.mountTmpfs(path, 1_048_576n);
    const holder = execFileSync('sh', ['-c', `exec 9> ${path}/held; sleep 1000 >/dev/null 2>&1 & echo $!`]);
    await expect(files.unmount(path)).rejects.toMatchObject({ kind: 'conflict', reason: 'EBUSY' });
    expect(await files.mountsBelow(path)).toHaveLength(1);
    process.kill(Number(String(holder)), 'SIGKILL');
  });

  test('waits for a mount that is in use for a moment', async () => {
    const path = await volume('passing');
    await files.mountTmpfs(path, 1_048_576n);
    const held = await open(join(path, 'held'), 'w');
    const [, outcome] = await Promise.all([sleep(15).then(() => held.close()), files.unmount(path)]);
    expect(outcome).toBeUndefined();
    expect(await ground.mounts()).toEqual([]);
  });

  test('usage counts blocks and inodes, hard links once, but no other file systems or link targets', async () => {
    const path = await volume('used');
    await writeFile(join(path, 'a'), Buffer.alloc(100_000));
    await link(join(path, 'a'), join(path, 'b'));
    await symlink('/var', join(path, 'out'));
    await mkdir(join(path, 'other'));
    await files.mountTmpfs(join(path, 'other'), 1_048_576n);
    await writeFile(join(path, 'other/c'), Buffer.alloc(500_000));
    const { bytes, inodes } = await files.usage(path, signal);
    expect(inodes).toBe(3);
    expect(bytes).toBeGreaterThanOrEqual(100_000);
    expect(bytes).toBeLessThan(200_000);
    const space = await files.space(join(path, 'other'));
    expect(space.capacityBytes).toBe(1_048_576);
    expect(space.usedBytes).toBeGreaterThanOrEqual(500_000);
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    await expect(files.usage(path, stop.signal)).rejects.toThrow('enough');
  });

  test('mounts and unmounts hundreds of volumes concurrently', async () => {
    const paths = await Promise.all(Array.from({ length: 400 }, (_, at) => volume(`many-${at}`)));
    await Promise.all(paths.map((path) => files.mountTmpfs(path, 65_536n)));
    expect(await ground.mounts()).toHaveLength(400);
    await Promise.all(paths.map((path) => files.unmount(path)));
    expect(await ground.mounts()).toEqual([]);
  }, 120_000);
});
