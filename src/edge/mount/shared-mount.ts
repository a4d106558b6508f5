// Makes a directory lie on a shared mount, so that what a container mounts below it (a CSI driver, for one) is seen by
// the host and by other containers. Upstream: MakeRShared in pkg/volume/util/hostutil.
// Invariant: idempotent; a second call, and a second process, never stack another mount on the first.
import { open, readFile, realpath } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { loadSyscalls, mountFlags } from '../syscalls/syscalls.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';
import { type MountEntry, readMountTable } from './mount-table.ts';

/** What had to be done: nothing; only the kind of the mount that was there; a bind mount on itself. */
type Sharing = 'was-shared' | 'made-shared' | 'bound';

export async function shareMount(directory: string): Promise<Sharing> {
  const path = await realpath(directory).catch((err: unknown) => {
    throw hostError(err, `cannot share ${directory}`, { path: directory });
  });
  const mount = await mountOf(path);
  if (mount.isShared) return 'was-shared';
  const syscalls = await loadSyscalls();
  const { bind, recursive, shared } = mountFlags;
  // A mount point that is not shared is what is left when the kubelet ended between the two calls below.
  const isMountPoint = mount.mountPoint === path;
  // differs from upstream: recursive, so that mounts that are already below stay in sight.
  if (!isMountPoint) await syscalls.mount({ source: path, target: path, flags: bind | recursive });
  await syscalls.mount({ source: 'none', target: path, flags: shared | recursive });
  return isMountPoint ? 'made-shared' : 'bound';
}

/**
 * The mount a path lies on, as the kernel sees it: by the longest matching mount point it could not be told, since a
 * mount may be hidden below another.
 */
async function mountOf(path: string): Promise<MountEntry> {
  const directory = await open(path, 'r');
  try {
    const info = await readFile(`/proc/self/fdinfo/${directory.fd}`, 'utf8');
    const id = Number(/^mnt_id:\s*(\d+)$/m.exec(info)?.[1]);
    const mount = (await readMountTable()).find((each) => each.id === id);
    if (mount !== undefined) return mount;
    throw new KubeletError('not-found', 'NoSuchMount', `no mount in the table has ${path}`, {
      details: { path, id },
    });
  } finally {
    await directory.close();
  }
}
