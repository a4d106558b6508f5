// Bind-mounts a subPath of a volume as the source of a container's mount. Upstream: pkg/volume/util/subpath.
// Invariants: the kernel resolves the path beneath the volume (openat2), so that neither `..` nor a link, absolute or swapped in
// concurrently, escapes it; the result is mounted by its descriptor, not by its name; everything is opened as O_PATH, so that no
// FIFO or device is accessed.
// differs from upstream: an absolute link is rejected even if it points back into the volume on this node.
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
  /** Creates the missing parents of a path, then calls `create`. False if the path existed. */
  readonly within: (path: string, create: () => Promise<void>) => Promise<boolean>;
  readonly isMountPoint: (path: string) => Promise<boolean>;
  readonly unmount: (path: string) => Promise<void>;
}

export async function bindSubPath(deps: SubPathDeps, request: SubPathRequest): Promise<void> {
  const { syscalls } = deps;
  const volume = await open(request.volumePath, openPath | constants.O_DIRECTORY);
  let fd: number | undefined;
  try {
    fd = await openOrCreate(syscalls, volume, request);
    await bindDescriptor(deps, fd, request.target);
  } finally {
    if (fd !== undefined) syscalls.close(fd);
    await volume.close();
  }
}

async function bindDescriptor(deps: SubPathDeps, fd: number, target: string): Promise<void> {
  const source = `/proc/self/fd/${fd}`;
  const wanted = await stat(source);
  // A new target has no mount on it, so the mount table need not be read.
  const isNew = await deps.within(target, () => createTarget(target, wanted.isDirectory()));
  if (!isNew && (await isBound(deps, wanted, target))) return;
  await deps.syscalls.mount({ source, target, fsType: null, flags: mountFlag.bind, options: null });
}

/** Whether the target is already bound to it. Any other mount on the target is unmounted. */
async function isBound(deps: SubPathDeps, wanted: Stats, target: string): Promise<boolean> {
  if (await deps.isMountPoint(target)) {
    const found = await lstat(target);
    if (found.dev === wanted.dev && found.ino === wanted.ino) return true;
    // A running container has its own copy of the old mount; this one is for the next start.
    await deps.unmount(target);
  }
  if ((await lstat(target)).isDirectory() !== wanted.isDirectory())
    throw new KubeletError(
      'conflict',
      'SubPathChanged',
      `${target} and its subPath are not both directories or both files`,
    );
  return false;
}

/** A file serves as target for everything but directories. */
async function createTarget(target: string, asDirectory: boolean): Promise<void> {
  if (asDirectory) await createDirectory(target, 0o750);
  else await createFile(target, { data: '', mode: 0o640 });
}

async function openOrCreate(
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
        `subPath ${JSON.stringify(subPath)} escapes its volume`,
      );
    if (err.reason !== 'ENOENT' || !create) throw err;
  }
  return await createBeneath(syscalls, volume, subPath).catch((err: unknown) => {
    const what = `cannot create subPath ${JSON.stringify(subPath)}`;
    throw new KubeletError('invalid', subPathNotCreated, what, { cause: err });
  });
}

/** Creates the missing directories one by one, each through the descriptor of its parent. */
async function createBeneath(syscalls: MountSyscalls, volume: FileHandle, subPath: string): Promise<number> {
  const mode = (await volume.stat()).mode & 0o7777;
  const parts = subPath.split('/').filter((part) => part !== '' && part !== '.');
  let parent = await syscalls.openBeneath(volume.fd, '.');
  try {
    for (const [at, part] of parts.entries()) {
      const entry = `/proc/self/fd/${parent}/${part}`;
      // Follows no link: one swapped in would change the mode of another directory of the volume.
      if (await mkdirIfMissing(entry, mode)) await setDirectoryMode(entry, mode);
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

async function mkdirIfMissing(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}
