// Puts a directory on a shared mount, so that mounts that a container (such as a CSI driver) creates below it propagate to the
// host and to other containers. Upstream: MakeRShared in pkg/volume/util/hostutil.
// Invariant: idempotent; neither a second call nor a second process stacks another mount on the first.
import { open, readFile, realpath } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { loadSyscalls, mountFlags } from '../syscalls/syscalls.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';
import { type MountEntry, readMountTable } from './mount-table.ts';

/** What was necessary: nothing; changing the propagation of an existing mount; bind-mounting the directory on itself. */
type Sharing = 'already-shared' | 'propagation-changed' | 'bound';

export async function shareMount(directory: string): Promise<Sharing> {
  const path = await realpath(directory).catch((err: unknown) => {
    throw hostError(err, `cannot share ${directory}`, { path: directory });
  });
  const mount = await mountOf(path);
  if (mount.isShared) return 'already-shared';
  const syscalls = await loadSyscalls();
  const { bind, recursive, shared } = mountFlags;
  // A mount point that is not shared is left behind when the kubelet is killed between the two calls below.
  const isMountPoint = mount.mountPoint === path;
  // differs from upstream: recursive, so that existing mounts below it stay visible.
  if (!isMountPoint) await syscalls.mount({ source: path, target: path, flags: bind | recursive });
  await syscalls.mount({ source: 'none', target: path, flags: shared | recursive });
  return isMountPoint ? 'propagation-changed' : 'bound';
}

/** The mount that holds a path. Its ID is exact, unlike the longest matching mount point, which may be hidden by another mount. */
async function mountOf(path: string): Promise<MountEntry> {
  const directory = await open(path, 'r');
  try {
    const info = await readFile(`/proc/self/fdinfo/${directory.fd}`, 'utf8');
    const id = Number(/^mnt_id:\s*(\d+)$/m.exec(info)?.[1]);
    const mount = (await readMountTable()).find((each) => each.id === id);
    if (mount !== undefined) return mount;
    throw new KubeletError('not-found', 'NoSuchMount', `no entry of the mount table holds ${path}`, {
      details: { path, id },
    });
  } finally {
    await directory.close();
  }
}
