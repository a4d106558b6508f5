// Listens for HTTP/1.1 on a Unix socket that only the kubelet's user can connect to. Upstream has no counterpart.
// Owns the socket, its file and every connection on it. Invariants: those of listen-http.ts; at no time can another user connect; a
// socket that another process listens on is left alone, that of a process that has ended is replaced.
import { lstatSync } from 'node:fs';
import { chmod, mkdtemp, rename, rm, rmdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { checkSocketPath, listenOnPath } from '../files/socket-file.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';
import { HttpConnections } from './http-connections.ts';
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts';
import { type ListenHttpOptions, listening, serveRequests, serverOptions } from './listen-http.ts';
import { PacedTurns } from './paced-turns.ts';
import { PeerLimits } from './peer-limits.ts';

interface ListenUnixOptions extends Omit<ListenHttpOptions, 'host' | 'port' | 'flag'> {
  readonly path: string;
}

/** The socket is bound in a directory of mode 0700 and gets its mode before it is moved to its path. */
const socketMode = 0o600;
const boundName = 's';
const mostConnections = 64;
const probeMs = 1_000;

export async function listenUnix(options: ListenUnixOptions): Promise<{ close(): Promise<void> }> {
  const { onError, path } = options;
  checkSocketPath(path);
  const limits: HttpLimits = { ...defaultHttpLimits, ...options.limits, connections: mostConnections };
  const connections = new HttpConnections();
  // Its clients are root: they are not limited by address, which they do not have.
  const peers = new PeerLimits(limits);
  const turns = new PacedTurns(limits.unknownShare);
  const server = createServer(serverOptions(limits));
  serveRequests(server, { ...options, limits, connections, peers, turns });
  server.timeout = limits.stalledMs;
  server.maxConnections = mostConnections;
  server.on('connection', (socket) => connections.add(socket));
  const inode = await bind(server, path);
  const listener = listening(server, connections, peers, limits, onError);
  return {
    close: async () => {
      await listener.close();
      if (inodeOf(path) === inode) await rm(path, { force: true });
    },
  };
}

/** The inode of the socket. */
async function bind(server: Server, path: string): Promise<number | undefined> {
  let directory: string | undefined;
  try {
    await refuseLiveSocket(path);
    // Not longer than the final path, which fits.
    directory = await mkdtemp(join(dirname(path), '.api-'));
    const bound = join(directory, boundName);
    await listenOnPath(server, bound);
    await chmod(bound, socketMode);
    const inode = inodeOf(bound);
    await rename(bound, path);
    return inode;
  } catch (err) {
    server.close();
    throw err instanceof KubeletError ? err : hostError(err, `cannot listen on ${path}`, { path });
  } finally {
    if (directory !== undefined) await removePrivate(directory);
  }
}

async function removePrivate(directory: string): Promise<void> {
  await rm(join(directory, boundName), { force: true });
  await rmdir(directory);
}

async function refuseLiveSocket(path: string): Promise<void> {
  if (!(await isLive(path))) return;
  const message = `cannot listen on ${path}: another process serves it, probably another kubelet with the same root directory`;
  throw new KubeletError('conflict', 'AddressInUse', message, { details: { path } });
}

/** Whether a process accepts connections on it. A silent one counts: its backlog may be full. */
function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const end = (live: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(live);
    };
    const timer = setTimeout(() => end(true), probeMs);
    socket.once('connect', () => end(true));
    socket.once('error', (err: NodeJS.ErrnoException) => end(err.code === 'EAGAIN'));
  });
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}
