// A directory for tests that really mount. Afterwards everything mounted below it is unmounted, and only then it is removed:
// a mount that stays keeps the directory, so that nothing is ever deleted through it.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Mounting is root's. */
export const canMount: boolean = process.getuid?.() === 0;

export interface MountGround {
  readonly directory: string;
  /** `<directory>/pods`. */
  readonly podsDir: string;
  /** What is mounted below the directory, relative to it. */
  mounts(): Promise<readonly string[]>;
  clear(): Promise<void>;
}

export async function mountGround(): Promise<MountGround> {
  const directory = await mkdtemp(join(tmpdir(), 'volumes-'));
  const podsDir = join(directory, 'pods');
  await mkdir(podsDir);
  const mounts = async (): Promise<readonly string[]> => {
    const table = await readFile('/proc/self/mountinfo', 'utf8');
    const points = table.split('\n').flatMap((line) => line.split(' ')[4] ?? []);
    return points
      .filter((point) => point.startsWith(`${directory}/`))
      .map((point) => point.slice(directory.length + 1));
  };
  return {
    directory,
    podsDir,
    mounts,
    clear: async () => {
      for (const point of (await mounts()).toReversed()) await run('umount', ['-l', join(directory, point)]);
      if ((await mounts()).length > 0) throw new Error(`mounts are left below ${directory}`);
      await rm(directory, { recursive: true });
    },
  };
}
