import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { changeOwnership } from './ownership.ts';

describe.runIf(canMount)('changeOwnership', () => {
  let ground: MountDirectory;
  let volume: string;
  const signal = new AbortController().signal;

  beforeEach(async () => {
    ground = await mountDirectory();
    volume = join(ground.podsDir, 'u/volumes/v');
    await mkdir(volume, { recursive: true });
  });
  afterEach(async () => await ground.clear());

  const request = (over: object = {}) => ({
    path: volume,
    fsGroup: 2000,
    readOnly: false,
    onlyOnRootMismatch: false,
    ...over,
  });
  const of = async (path: string): Promise<readonly [number, string]> => {
    const { gid, mode } = await lstat(join(volume, path));
    return [gid, (mode & 0o7777).toString(8)];
  };

  test('sets group and group permissions of every entry, but only the group of links', async () => {
    await mkdir(join(volume, 'd'), { mode: 0o700 });
    await writeFile(join(volume, 'd/f'), '', { mode: 0o600 });
    await writeFile(join(volume, 'd/script'), '', { mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', join(volume, 'fifo')]);
    const outside = join(ground.directory, 'outside');
    await writeFile(outside, '', { mode: 0o600 });
    await symlink(outside, join(volume, 'link'));
    const result = await changeOwnership(request(), signal);
    expect(result).toEqual({ entries: 6, failed: 0, firstFailure: undefined });
    expect(await of('d')).toEqual([2000, '2770']);
    expect(await of('d/f')).toEqual([2000, '660']);
    expect(await of('d/script')).toEqual([2000, '760']);
    expect(await of('fifo')).toEqual([2000, '660']);
    expect((await of('link'))[0]).toBe(2000);
    const kept = await stat(outside);
    expect([kept.gid, kept.mode & 0o7777]).toEqual([0, 0o600]);
  });

  test('grants a read-only volume’s group no write permission', async () => {
    await writeFile(join(volume, 'f'), '', { mode: 0o400 });
    await chmod(volume, 0o700);
    await changeOwnership(request({ readOnly: true }), signal);
    expect(await of('f')).toEqual([2000, '440']);
    expect(await of('.')).toEqual([2000, '2750']);
  });

  test('checks only the root with OnRootMismatch, and changes the root last', async () => {
    await writeFile(join(volume, 'f'), '', { mode: 0o600 });
    expect((await changeOwnership(request({ onlyOnRootMismatch: true }), signal)).entries).toBe(2);
    await writeFile(join(volume, 'late'), '', { mode: 0o600 });
    expect((await changeOwnership(request({ onlyOnRootMismatch: true }), signal)).entries).toBe(0);
    expect((await of('late'))[1]).toBe('600');
    await chmod(volume, 0o2750);
    expect((await changeOwnership(request({ onlyOnRootMismatch: true }), signal)).entries).toBe(3);
    const stop = new AbortController();
    await changeOwnership(request({ fsGroup: 3000 }), stop.signal);
    stop.abort(new Error('enough'));
    await expect(changeOwnership(request({ fsGroup: 4000 }), stop.signal)).rejects.toThrow('enough');
    expect((await of('.'))[0]).toBe(3000);
  });

  test('never follows links that are swapped in concurrently', async () => {
    const outside = join(ground.directory, 'outside');
    await writeFile(outside, '', { mode: 0o600 });
    await writeFile(join(volume, 'f'), '', { mode: 0o600 });
    await symlink(outside, join(volume, 'evil'));
    const ended = new AbortController();
    const swap = (async () => {
      while (!ended.signal.aborted) {
        await rename(join(volume, 'f'), join(volume, 'kept'));
        await rename(join(volume, 'evil'), join(volume, 'f'));
        await rename(join(volume, 'f'), join(volume, 'evil'));
        await rename(join(volume, 'kept'), join(volume, 'f'));
      }
    })();
    for (let turn = 0; turn < 300; turn++) await changeOwnership(request({ fsGroup: 2000 + turn }), signal);
    ended.abort();
    await swap;
    const kept = await stat(outside);
    expect([kept.gid, kept.mode & 0o7777]).toEqual([0, 0o600]);
  }, 120_000);

  test('does not block the event loop on thousands of files', async () => {
    const count = 4_200;
    execFileSync('sh', ['-c', `seq 1 ${count} | xargs touch`], { cwd: volume });
    let turns = 0;
    const ended = new AbortController();
    const beside = (async () => {
      while (!ended.signal.aborted) {
        await new Promise((resolve) => setImmediate(resolve));
        turns++;
      }
    })();
    const progress: number[] = [];
    await changeOwnership(request({ onProgress: (entries: number) => progress.push(entries) }), signal);
    ended.abort();
    await beside;
    expect(turns).toBeGreaterThan(count / 64);
    expect(progress).toEqual([4096]);
    expect((await of(String(count)))[0]).toBe(2000);
    await rm(join(volume, '1'));
  }, 120_000);
});
