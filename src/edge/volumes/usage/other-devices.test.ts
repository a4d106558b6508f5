// Both walks count the rest of a directory after an entry of another file system, wherever the kernel lists it.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../../test/fakes/mount-directory.ts';
import { diskUsage } from './usage.ts';
import { walkUsage } from './walk-usage.ts';

const run = promisify(execFile);
let ground: MountDirectory;
beforeEach(async () => {
  ground = await mountDirectory();
});
afterEach(() => ground.clear());

function walked(path: string): number {
  const walk = walkUsage(path);
  for (let step = walk.next(); ; step = walk.next()) if (step.done === true) return step.value.inodes;
}

test.runIf(canMount)('a file of another file system does not end the count of its directory', async () => {
  const path = join(ground.podsDir, 'v');
  const outside = join(ground.directory, 'outside');
  await mkdir(join(path, 'last'), { recursive: true });
  await mkdir(outside);
  await run('mount', ['-t', 'tmpfs', 'tmpfs', outside]);
  await writeFile(join(outside, 'f'), 'x');
  const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
  for (const name of names) await writeFile(join(path, name), 'x');
  await writeFile(join(path, 'last', 'f'), 'x');
  // Every other file is of the other file system, so that some come before others in any order.
  const foreign = names.filter((_, index) => index % 2 === 0);
  for (const name of foreign) await run('mount', ['--bind', join(outside, 'f'), join(path, name)]);
  const { inodes } = await diskUsage(path, new AbortController().signal);
  // The directory itself, `last` and its file.
  expect([inodes, walked(path)]).toEqual([
    names.length - foreign.length + 3,
    names.length - foreign.length + 3,
  ]);
});
