import { statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import type { Content } from '../../api/ports/volume-host.ts';
import { callsInMemory, diskCalls, memoryCalls } from './file-calls.ts';
import { VolumeFiles } from './volume-files.ts';

const sized = (count: number, bytes: number): Content =>
  new Map(Array.from({ length: count }, (_, at) => [`f${at}`, { data: Buffer.alloc(bytes), mode: 0o644 }]));

describe.runIf(canMount)('callsInMemory (root needed)', () => {
  let ground: MountDirectory;
  let files: VolumeFiles;
  let dir: string;
  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => 0 });
    dir = join(ground.podsDir, 'u/volumes/v');
    await files.makeDirectory(dir, 0o755);
    await files.mountTmpfs(dir, 64n * 1_048_576n);
  });
  afterEach(async () => await ground.clear());

  const cases = [
    ['uses synchronous calls for a few small files', sized(5, 2_000), memoryCalls],
    ['uses synchronous calls for a mebibyte in one file', sized(1, 1_048_576), memoryCalls],
    ['uses the pool for more than a mebibyte', sized(2, 600_000), diskCalls],
    ['uses the pool for very many files', sized(300, 1), diskCalls],
  ] as const;
  for (const [name, content, want] of cases) test(name, () => expect(callsInMemory(dir, content)).toBe(want));

  test('uses the pool if the file system already holds many bytes or files', async () => {
    await writeFile(join(dir, 'large'), Buffer.alloc(2_000_000));
    expect(callsInMemory(dir, sized(1, 1))).toBe(diskCalls);
    await writeFile(join(dir, 'large'), '');
    expect(callsInMemory(dir, sized(1, 1))).toBe(memoryCalls);
    for (let at = 0; at < 260; at++) await writeFile(join(dir, `f${at}`), '');
    expect(callsInMemory(dir, sized(1, 1))).toBe(diskCalls);
  });

  test('uses the pool for a directory that is not a mount point', async () => {
    await files.unmount(dir);
    const isOnDisk = (await statfs(dir)).type !== 0x01021994;
    expect(callsInMemory(dir, sized(1, 1))).toBe(isOnDisk ? diskCalls : memoryCalls);
  });

  test('replaces large content by small content and vice versa', async () => {
    const options = { fsGroup: 2000, nested: [], isNew: true, inMemory: true };
    await files.writeContent(dir, sized(300, 5_000), options);
    await files.writeContent(dir, sized(2, 10), { ...options, isNew: false });
    expect(callsInMemory(dir, sized(2, 10))).toBe(memoryCalls);
    expect(await files.writeContent(dir, sized(2, 10), { ...options, isNew: false })).toBe(false);
    expect(await files.writeContent(dir, sized(3, 900_000), { ...options, isNew: false })).toBe(true);
    const { inodes } = await files.usage(dir, new AbortController().signal);
    // The volume, ..data and its target, three files and a link to each.
    expect(inodes).toBe(9);
  });
});
