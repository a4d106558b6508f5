// Reads a file of a volume that a pod can change meanwhile. Upstream: SecureJoin, then os.Open.
// Invariants: the kernel resolves the path beneath the volume (openat2), so that neither `..` nor a link, absolute or swapped in
// concurrently, escapes it; only regular files are opened for reading, and by their descriptor; at most `limitBytes` are read.
// differs from upstream: an absolute link is rejected; upstream takes it as relative to the volume, which no container does.
import { constants, fstatSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ReadFileRequest } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { notAFileReason, readSmallBytes } from '../files/small-files.ts';
import type { MountSyscalls } from '../mount/mount-syscalls.ts';

const openPath = 0o10000000;

/** Undefined if the file does not exist. */
export async function readBeneath(
  syscalls: Pick<MountSyscalls, 'close' | 'openBeneath'>,
  { limitBytes, path, volumePath }: ReadFileRequest,
): Promise<Uint8Array | undefined> {
  const volume = await open(volumePath, openPath | constants.O_DIRECTORY);
  let fd: number | undefined;
  try {
    fd = await syscalls.openBeneath(volume.fd, path);
    // Opening a FIFO or a device may block or have side effects.
    if (!fstatSync(fd).isFile())
      throw new KubeletError('invalid', notAFileReason, `refusing to open ${path}: it is not a regular file`);
    return await readSmallBytes(`/proc/self/fd/${fd}`, { limitBytes, followLinks: true });
  } catch (err) {
    if (err instanceof KubeletError && err.reason === 'ENOENT') return undefined;
    throw err;
  } finally {
    if (fd !== undefined) syscalls.close(fd);
    await volume.close();
  }
}
