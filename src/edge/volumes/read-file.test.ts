// Reading a file of a volume: whatever a container puts there, and whenever, only regular files of the volume are read.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { swapLinks } from '../../../test/clients/link-swapper.ts';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { VolumeFiles } from './volume-files.ts';

describe.runIf(canMount)('readFile (root needed)', () => {
  const { signal } = new AbortController();
  let ground: MountDirectory;
  let files: VolumeFiles;
  let volume: string;
  let outside: string;

  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
    volume = join(ground.podsDir, 'u/volumes/kubernetes.io~empty-dir/v');
    outside = join(ground.directory, 'outside');
    for (const path of [join(volume, 'd/e'), outside]) mkdirSync(path, { recursive: true });
    writeFileSync(join(volume, 'd/e/file'), 'mine');
    writeFileSync(join(outside, 'secret'), 'theirs', { mode: 0o600 });
  });
  afterEach(async () => await ground.clear());

  const read = async (path: string, limitBytes = 100): Promise<string | undefined> => {
    const data = await files.readFile({ volumePath: volume, path, limitBytes }, signal);
    return data === undefined ? undefined : Buffer.from(data).toString();
  };

  test('reads a file, also through links within the volume', async () => {
    symlinkSync('d/e', join(volume, 'link'));
    symlinkSync('../e/./file', join(volume, 'd/e/other'));
    expect(
      await Promise.all(['d/e/file', './d//e/file', 'link/file', 'link/other'].map((path) => read(path))),
    ).toEqual(Array.from({ length: 4 }, () => 'mine'));
    expect([await read('none'), await read('d/none/file')]).toEqual([undefined, undefined]);
  });

  test('rejects every way out of the volume', async () => {
    symlinkSync(join(outside, 'secret'), join(volume, 'absolute'));
    symlinkSync('../../../../../outside/secret', join(volume, 'relative'));
    symlinkSync(outside, join(volume, 'directory'));
    symlinkSync('/proc/self/root/etc/passwd', join(volume, 'magic'));
    symlinkSync('loop', join(volume, 'loop'));
    for (const path of [
      'absolute',
      'relative',
      'directory/secret',
      'magic',
      'loop',
      '../../../../../outside/secret',
      '/etc/passwd',
    ])
      await expect(read(path)).rejects.toThrow();
  });

  test('rejects what is not a regular file, without waiting for it', async () => {
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    execFileSync('mknod', [join(volume, 'tty'), 'c', '5', '0']);
    symlinkSync('fifo', join(volume, 'to-fifo'));
    for (const path of ['fifo', 'tty', 'to-fifo', 'd', '.', 'd/e/file/x'])
      await expect(read(path)).rejects.toThrow();
  });

  test('rejects a file above the limit without reading it', async () => {
    writeFileSync(join(volume, 'sparse'), '');
    truncateSync(join(volume, 'sparse'), 1_000_000_000_000);
    writeFileSync(join(volume, 'exact'), 'x'.repeat(100));
    writeFileSync(join(volume, 'long'), 'x'.repeat(101));
    expect(await read('exact')).toBe('x'.repeat(100));
    for (const path of ['sparse', 'long']) await expect(read(path)).rejects.toThrow('more than 100 bytes');
  });

  test('rejects a path deeper than the kernel allows', async () => {
    await expect(read('d/'.repeat(3_000))).rejects.toThrow();
  });

  test('never reads what an attacker swaps in', async () => {
    symlinkSync(outside, join(volume, 'evil'));
    writeFileSync(join(volume, 'd/secret'), 'mine');
    const attacker = await swapLinks([[join(volume, 'd'), join(volume, 'evil')]]);
    const seen = { mine: 0, rejected: 0 };
    for (let round = 0; round < 300; round++) {
      const text = await read('d/secret').catch(() => undefined);
      if (text === undefined) seen.rejected++;
      else {
        expect(text).toBe('mine');
        seen.mine++;
      }
    }
    expect(await attacker.end()).toBeGreaterThan(0);
    expect(Math.min(seen.mine, seen.rejected)).toBeGreaterThan(0);
  }, 60_000);
});
