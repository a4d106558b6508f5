// A temporary directory for tests with real mounts. At the end everything mounted below it is unmounted before it is
// removed; if a mount remains, the directory stays, so that nothing is ever deleted through a mount.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Only root may mount. */
export const canMount: boolean = process.getuid?.() === 0;

export interface MountDirectory {
  readonly directory: string;
  /** `<directory>/pods`. */
  readonly podsDir: string;
  /** The mount points below the directory, relative to it. */
  mounts(): Promise<readonly string[]>;
  clear(): Promise<void>;
}

export async function mountDirectory(): Promise<MountDirectory> {
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
      if ((await mounts()).length > 0) throw new Error(`mounts remain below ${directory}`);
      await rm(directory, { recursive: true });
    },
  };
}
