// Maps a block device into a pod: a link in the pod's directory for the runtime, and a bind mount of the device node that a loop
// device keeps open, so that the name cannot be reused for another device.
// Upstream: pkg/volume/util (MapBlockVolume, UnmapBlockVolume) and volumepathhandler, with the same layout.
// Invariants: idempotent, completes an interrupted call; removes only its own link, the empty mount point and its empty
// directory.
import {
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rmdir,
  stat,
  symlink,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DeviceMap } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

export interface DeviceMapDeps {
  readonly bind: (source: string, target: string) => Promise<void>;
  readonly unmount: (path: string) => Promise<void>;
  readonly losetup: (args: readonly string[]) => Promise<unknown>;
  /** Default: `/sys/block`. */
  readonly sysBlock?: string;
}

export async function mapDevice(
  deps: DeviceMapDeps,
  device: string,
  { link, target }: DeviceMap,
): Promise<void> {
  const real = await realpath(device);
  if (!(await stat(real)).isBlockDevice())
    throw new KubeletError('invalid', 'NotADevice', `${device} is not a block device`);
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  await mkdir(dirname(link), { recursive: true, mode: 0o750 });
  if (!(await isDevice(target))) {
    await (await open(target, 'a', 0o640)).close();
    await deps.bind(real, target);
  }
  // After a reboot the name may belong to another device, so the link is always replaced.
  await removeLink(link);
  await symlink(real, link);
  if ((await loopOf(deps, target)) === undefined) await deps.losetup(['-f', target]);
}

export async function unmapDevice(deps: DeviceMapDeps, { link, target }: DeviceMap): Promise<void> {
  const loop = await loopOf(deps, target);
  if (loop !== undefined) await deps.losetup(['-d', loop]);
  await removeLink(link);
  await deps.unmount(target);
  await ignoreMissingOrInUse(removeEmptyFile(target));
  await ignoreMissingOrInUse(rmdir(dirname(target)));
}

/** The loop device that keeps the file open, from sysfs. */
async function loopOf(
  { sysBlock = '/sys/block' }: DeviceMapDeps,
  target: string,
): Promise<string | undefined> {
  for (const name of (await readdir(sysBlock)).filter((each) => each.startsWith('loop'))) {
    const backing = await readFile(join(sysBlock, name, 'loop/backing_file'), 'utf8').catch(() => '');
    // regex-bound: 4096, a file of sysfs
    if (backing.trim().replace(/ *\(deleted\)$/, '') === target) return `/dev/${name}`;
  }
  return undefined;
}

async function isDevice(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isBlockDevice();
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return false;
    throw err;
  }
}

async function removeLink(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSymbolicLink())
      throw new KubeletError('conflict', 'EEXIST', `${path} exists and is not a link`);
    await unlink(path);
  } catch (err) {
    if (errorCode(err) !== 'ENOENT') throw err;
  }
}

async function removeEmptyFile(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isFile() || found.size > 0)
    throw new KubeletError('conflict', 'NotEmpty', `refusing to remove ${path}: it is not an empty file`);
  await unlink(path);
}

/** Ignores a missing path, and a directory that holds mounts of other pods. */
async function ignoreMissingOrInUse(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (err) {
    if (!['ENOENT', 'ENOTEMPTY'].includes(errorCode(err) ?? '')) throw err;
  }
}
