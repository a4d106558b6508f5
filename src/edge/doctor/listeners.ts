// Which process listens on a TCP port, from the kernel's tables. No port is bound to find out.
// Invariant: bounded work, however many connections the machine and files its processes have open.
import { opendir, readdir, readlink } from 'node:fs/promises';
import { parseIp } from '../../api/k8s/ip-address.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { readHead } from './read-head.ts';

interface ListeningSocket {
  readonly port: number;
  readonly address: string;
  readonly inode: string;
}

interface FoundListener {
  readonly port: number;
  readonly address: string;
  readonly pid: number | undefined;
  readonly program: string | undefined;
}

const listening = '0A';
const batch = 32;
/** The kernel lists listeners before connections. This is room for 25,000 of them. */
const tableBytes = 4 * 1024 * 1024;
/** Per process. A program opens its listening sockets early, so they have low numbers. */
const mostFiles = 16_384;

/** The listeners on these ports. */
export async function findListeners(
  ports: readonly number[],
  proc = '/proc',
): Promise<readonly FoundListener[]> {
  const tables = await Promise.all([
    readHead(`${proc}/net/tcp`, tableBytes),
    readHead(`${proc}/net/tcp6`, tableBytes).catch(noneIfMissing),
  ]);
  const sockets = tables.flatMap(parseSockets).filter(({ port }) => ports.includes(port));
  if (sockets.length === 0) return [];
  const owners = await ownersOf(new Set(sockets.map(({ inode }) => inode)), proc);
  return await Promise.all(
    sockets.map(async ({ address, inode, port }) => {
      const pid = owners.get(inode);
      const program =
        pid === undefined
          ? undefined
          : await readHead(`${proc}/${pid}/comm`, 64).then(
              (text) => text.trim(),
              () => undefined,
            );
      return { port, address, pid, program };
    }),
  );
}

/** A machine can be without IPv6. */
function noneIfMissing(err: unknown): string {
  if (errorCode(err) === 'ENOENT') return '';
  throw err;
}

/** Of /proc/net/tcp or tcp6: the sockets that listen. */
export function parseSockets(table: string): readonly ListeningSocket[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const [address, port] = local.split(':');
    if (state !== listening || address === undefined || port === undefined) return [];
    return [{ port: Number.parseInt(port, 16), address: addressOf(address), inode }];
  });
}

/** Words of 32 bits in the byte order of the machine, which is little-endian wherever Node.js runs on Linux but s390x. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words
    .flatMap((word) => (word.match(/../g) ?? []).toReversed())
    .map((each) => Number.parseInt(each, 16));
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  const text = groups.join(':');
  return parseIp(text)?.text ?? text;
}

/** The process that has each socket open; those of other users are seen by root only. */
async function ownersOf(inodes: ReadonlySet<string>, proc: string): Promise<ReadonlyMap<string, number>> {
  const pids = (await readdir(proc)).filter((name) => /^[0-9]+$/.test(name));
  const owners = new Map<string, number>();
  for (let at = 0; at < pids.length && owners.size < inodes.size; at += batch) {
    await Promise.all(
      pids.slice(at, at + batch).map(async (pid) => {
        for await (const inode of socketsOf(`${proc}/${pid}/fd`))
          if (inodes.has(inode) && !owners.has(inode)) owners.set(inode, Number(pid));
      }),
    );
  }
  return owners;
}

/** The sockets among the open files of a process; none if it has ended or belongs to another user. */
async function* socketsOf(directory: string): AsyncGenerator<string> {
  let count = 0;
  try {
    for await (const { name } of await opendir(directory)) {
      if (++count > mostFiles) return;
      // A file may have been closed meanwhile.
      const link = await readlink(`${directory}/${name}`).catch(() => '');
      const inode = /^socket:\[([0-9]+)\]$/.exec(link)?.[1];
      if (inode !== undefined) yield inode;
    }
  } catch {
    // The process has ended, or belongs to another user.
  }
}
