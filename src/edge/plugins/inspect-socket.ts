// Decides whether a path is a socket that a plugin may be reached on, for plugins_registry and for the directory of device plugins.
// Invariants: links are not followed; a socket has an identity that differs from the one of its replacement.
// differs from upstream: that follows links and accepts sockets of every user, so any user who may write to a directory of
// plugins could pose as a plugin.
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { isMissing } from '../files/pod-files.ts';

type InspectedSocket =
  | { readonly is: 'socket'; readonly identity: string }
  /** Of another kind than a socket or a link. */
  | { readonly is: 'other' }
  | { readonly is: 'missing' }
  | { readonly is: 'refused'; readonly why: string };

/** Throws what lstat throws, unless the path does not exist. */
export async function inspectSocket(path: string): Promise<InspectedSocket> {
  try {
    return inspectStats(await lstat(path, { bigint: true }), process.getuid?.() ?? 0);
  } catch (err) {
    if (isMissing(err)) return { is: 'missing' };
    throw err;
  }
}

export function inspectStats(
  stats: Pick<BigIntStats, 'isSocket' | 'isSymbolicLink' | 'uid' | 'dev' | 'ino' | 'birthtimeNs' | 'ctimeNs'>,
  ownUid: number,
): InspectedSocket {
  if (stats.isSymbolicLink()) return { is: 'refused', why: 'it is a symbolic link' };
  if (!stats.isSocket()) return { is: 'other' };
  if (stats.uid !== 0n && stats.uid !== BigInt(ownUid))
    return { is: 'refused', why: `it belongs to user ${stats.uid}` };
  // A replacement may reuse the inode. File systems without a time of birth report 0.
  const bornNs = stats.birthtimeNs === 0n ? stats.ctimeNs : stats.birthtimeNs;
  return { is: 'socket', identity: `${stats.dev}:${stats.ino}:${bornNs}` };
}
