// Binds a server to a path, as upstream's CreateListener: a leftover socket is removed, the directory is created with mode 0750,
// and the socket is moved to its path once it accepts connections. In place, it is created at its path, as by net.Listen: some
// device plugins wait for that event, not for a move. Only then the close of the server removes it.
// differs from upstream: the modes are those of a Go kubelet with umask 022, whatever the umask is.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { setDirectoryMode } from '../files/small-files.ts';
import { checkSocketPath, listenOnPath } from '../files/socket-file.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';

const directoryMode = 0o750;
/** To connect takes the permission to write, so only root can. */
const socketMode = 0o755;

export async function bindUnixSocket(
  server: Server,
  path: string,
  { inPlace = false }: { readonly inPlace?: boolean } = {},
): Promise<void> {
  checkSocketPath(path);
  try {
    await rm(path, { force: true });
    const created = await mkdir(dirname(path), { recursive: true, mode: directoryMode });
    if (created !== undefined) await setDirectoryMode(dirname(path), directoryMode);
    // Not longer than the final name, which fits.
    const bound = inPlace ? path : join(dirname(path), `.${randomBytes(3).toString('hex')}`);
    await listenOnPath(server, bound);
    await chmod(bound, socketMode);
    if (!inPlace) await rename(bound, path);
  } catch (err) {
    server.close();
    throw hostError(err, `cannot listen on ${path}`, { path });
  }
}
