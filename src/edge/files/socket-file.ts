// What every server on a Unix socket has in common: the limit of its path, and the bind. Upstream has no counterpart: Go's net.Listen
// reports a path that is too long.
import type { Server } from 'node:net';
import { KubeletError } from '../../base/errors.ts';

/** The kernel's limit, without the terminating zero; Node would truncate a longer path. */
const longestPathBytes = 107;

export function checkSocketPath(path: string): void {
  if (Buffer.byteLength(path) <= longestPathBytes) return;
  const message = `cannot listen on ${path}: the path of a socket has at most ${longestPathBytes} bytes`;
  throw new KubeletError('invalid', 'SocketPathTooLong', message, { details: { path } });
}

export function listenOnPath(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
