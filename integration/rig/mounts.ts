// Mounts below a directory, in this mount namespace, and the loop devices behind them.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { mustRun, run } from './process.ts';

/** Mount points below `dir`, in the order in which they can be unmounted: the last one first. */
export function mountsBelow(dir: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[4] ?? ''))
    .filter((path) => path.startsWith(`${dir}/`))
    .reverse();
}

/** The kernel escapes spaces, tabs, newlines and backslashes as octal numbers. */
function unescapePath(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

export async function unmountBelow(dir: string): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    const mounts = mountsBelow(dir);
    if (mounts.length === 0) return;
    // The last attempts detach busy mounts, since their users are dead or dying.
    await run('umount', tries < 5 ? mounts : ['-l', ...mounts]);
  }
}

export interface SmallFileSystem {
  readonly bytes: number;
  readonly inodes: number;
}

/** Mounts a file system of this size at `dir`: an ext4 in a file, or a tmpfs where that is not possible. */
export async function mountSmall(dir: string, { bytes, inodes }: SmallFileSystem): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const file = `${dir}.ext4`;
  writeFileSync(file, '');
  truncateSync(file, bytes);
  const formatted = await run('mkfs.ext4', ['-q', '-F', '-m', '0', '-N', String(inodes), file]);
  if (formatted.code === 0 && (await run('mount', ['-o', 'loop', file, dir])).code === 0) return;
  rmSync(file);
  await mustRun('mount', ['-t', 'tmpfs', '-o', `size=${bytes},nr_inodes=${inodes}`, 'tmpfs', dir]);
}

/** Loop devices with a file below `dir`. The kernel removes them with their mount, unless that failed halfway. */
export function loopDevicesOf(dir: string): readonly string[] {
  const devices = existsSync('/sys/block') ? readdirSync('/sys/block') : [];
  return devices
    .filter((name) => name.startsWith('loop'))
    .filter((name) => backingFile(name).startsWith(`${dir}/`))
    .map((name) => `/dev/${name}`);
}

function backingFile(device: string): string {
  try {
    return readFileSync(join('/sys/block', device, 'loop/backing_file'), 'utf8');
  } catch {
    return '';
  }
}

export async function detachLoopDevices(dir: string): Promise<void> {
  for (const device of loopDevicesOf(dir)) await run('losetup', ['-d', device]);
}
