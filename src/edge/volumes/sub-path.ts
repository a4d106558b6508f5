// Binds a part of a volume where a container's mount can take it from. Upstream: pkg/volume/util/subpath.
// Invariants: the kernel itself resolves the path beneath the volume (openat2), so that neither `..` nor a link, absolute or
// swapped while we look, leads out of it; what was resolved is bound by its descriptor, not by its name; nothing is opened
// but as O_PATH, so that a FIFO or a device is not touched.
// differs from upstream: an absolute link is refused also when it points back into the volume on this machine.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises';
import { type SubPathRequest, subPathNotCreated } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { createDirectory, createFile, setDirectoryMode } from '../files/small-files.ts';
import { type MountSyscalls, mountFlag } from '../mount/mount-syscalls.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

const openPath = 0o10000000;

interface SubPathDeps {
  readonly syscalls: MountSyscalls;
  /** Makes what is missing above a path, then what is to be there; false when something was there already. */
  readonly within: (path: string, make: () => Promise<void>) => Promise<boolean>;
  readonly isMountPoint: (path: string) => Promise<boolean>;
  readonly unmount: (path: string) => Promise<void>;
}

export async function bindSubPath(deps: SubPathDeps, request: SubPathRequest): Promise<void> {
  const { syscalls } = deps;
  const volume = await open(request.volumePath, openPath | constants.O_DIRECTORY);
  let fd: number | undefined;
  try {
    fd = await openOrMake(syscalls, volume, request);
    await bindDescriptor(deps, fd, request.target);
  } finally {
    if (fd !== undefined) syscalls.close(fd);
    await volume.close();
  }
}

async function bindDescriptor(deps: SubPathDeps, fd: number, target: string): Promise<void> {
  const source = `/proc/self/fd/${fd}`;
  const wanted = await stat(source);
  // What was made this moment has nothing mounted on it: the kernel's table need not be read.
  const isNew = await deps.within(target, () => makeTarget(target, wanted.isDirectory()));
  if (!isNew && (await isBound(deps, wanted, target))) return;
  await deps.syscalls.mount({ source, target, fsType: null, flags: mountFlag.bind, options: null });
}

/** Whether it is bound there already. Anything else is unmounted. */
async function isBound(deps: SubPathDeps, wanted: Stats, target: string): Promise<boolean> {
  if (await deps.isMountPoint(target)) {
    const there = await lstat(target);
    if (there.dev === wanted.dev && there.ino === wanted.ino) return true;
    // The container's mount of before has its own copy; this one is for the next start.
    await deps.unmount(target);
  }
  if ((await lstat(target)).isDirectory() !== wanted.isDirectory())
    throw new KubeletError(
      'conflict',
      'SubPathChanged',
      `${target} is of another kind than what is bound to it`,
    );
  return false;
}

/** A file does for everything that is not a directory: the mount gives it its kind. */
async function makeTarget(target: string, asDirectory: boolean): Promise<void> {
  if (asDirectory) await createDirectory(target, 0o750);
  else await createFile(target, { data: '', mode: 0o640 });
}

async function openOrMake(
  syscalls: MountSyscalls,
  volume: FileHandle,
  { subPath, create }: SubPathRequest,
): Promise<number> {
  try {
    return await syscalls.openBeneath(volume.fd, subPath);
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    if (err.reason === 'EXDEV' || err.reason === 'ELOOP')
      throw new KubeletError(
        'invalid',
        'SubPathEscapes',
        `sub-path ${JSON.stringify(subPath)} leads out of its volume`,
      );
    if (err.reason !== 'ENOENT' || !create) throw err;
  }
  return await makeBeneath(syscalls, volume, subPath).catch((err: unknown) => {
    const what = `sub-path ${JSON.stringify(subPath)} cannot be made`;
    throw new KubeletError('invalid', subPathNotCreated, what, { cause: err });
  });
}

/** Makes the missing directories one by one, each through the descriptor of the one above. */
async function makeBeneath(syscalls: MountSyscalls, volume: FileHandle, subPath: string): Promise<number> {
  const mode = (await volume.stat()).mode & 0o7777;
  const parts = subPath.split('/').filter((part) => part !== '' && part !== '.');
  let parent = await syscalls.openBeneath(volume.fd, '.');
  try {
    for (const [at, part] of parts.entries()) {
      const entry = `/proc/self/fd/${parent}/${part}`;
      // As long as it is what was made: a link in its place would have another directory of the volume changed.
      if (await makeOne(entry, mode)) await setDirectoryMode(entry, mode);
      const child = await syscalls.openBeneath(volume.fd, parts.slice(0, at + 1).join('/'));
      syscalls.close(parent);
      parent = child;
    }
    return parent;
  } catch (err) {
    syscalls.close(parent);
    throw err;
  }
}

async function makeOne(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}
