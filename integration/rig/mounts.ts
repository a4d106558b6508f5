// Mounts below a directory, in this mount namespace, and the loop devices behind them.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
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

/** Detaches them, and before them the loop devices by which a kubelet keeps them open. */
export async function detachLoopDevices(dir: string): Promise<void> {
  const devices = loopDevicesOf(dir);
  for (const device of [...(await openersOf(devices)), ...devices]) await run('losetup', ['-d', device]);
}

/** Loop devices whose file is one of these devices, under a path that may be gone: the inode identifies it. */
async function openersOf(devices: readonly string[]): Promise<readonly string[]> {
  if (devices.length === 0) return [];
  const { stdout } = await run('losetup', ['-l', '-J', '-O', 'NAME,BACK-INO,BACK-MAJ:MIN']);
  if (stdout.trim() === '') return [];
  const { loopdevices } = JSON.parse(stdout) as { readonly loopdevices: readonly LoopDevice[] };
  const folder = statSync('/dev').dev;
  const inodes = new Set(devices.map((device) => statSync(device).ino));
  return loopdevices
    .filter(
      (loop) => inodes.has(Number(loop['back-ino'])) && loop['back-maj:min'].trim() === majorMinor(folder),
    )
    .map(({ name }) => name);
}

interface LoopDevice {
  readonly name: string;
  readonly 'back-ino': number | string;
  readonly 'back-maj:min': string;
}

/** Of file systems without a device of their own, whose numbers are small. */
function majorMinor(dev: number): string {
  return `${dev >> 8}:${dev & 0xff}`;
}
