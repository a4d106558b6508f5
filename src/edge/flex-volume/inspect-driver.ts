// Decides whether a file is the executable of a FlexVolume driver that may be run as root. Upstream: probeAll and getExecutable in
// pkg/volume/flexvolume.
// Invariants: only a regular, executable file that no other user can change or replace is accepted; the identity of a file differs
// from that of its replacement.
// differs from upstream, which runs any file that the kernel executes, of any owner.
import type { BigIntStats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../syscalls/syscalls-errors.ts';

export type InspectedDriver =
  | { readonly is: 'missing' }
  /** `why`: as `<path> is not executable`. */
  | { readonly is: 'refused'; readonly why: string }
  | { readonly is: 'executable'; readonly path: string; readonly identity: string };

type OwnedFile = Pick<BigIntStats, 'gid' | 'mode' | 'uid'>;

const sticky = 0o1000n;

/** `vendor~driver` holds `driver`. */
export function executableName(directory: string): string {
  return directory.slice(directory.lastIndexOf('~') + 1);
}

/** `directory`: the name of a directory in `root`. */
export async function inspectDriver(root: string, directory: string): Promise<InspectedDriver> {
  const folder = join(root, directory);
  const path = join(folder, executableName(directory));
  try {
    const rootStats = await stat(root, { bigint: true });
    const folderStats = await lstat(folder, { bigint: true });
    // As upstream, a link to a directory does not count.
    if (!folderStats.isDirectory()) return { is: 'missing' };
    const target = await realpath(path);
    const parent = dirname(target);
    const parentStats = await stat(parent, { bigint: true });
    const stats = await stat(target, { bigint: true });
    if (!stats.isFile()) return { is: 'refused', why: `${path} is not a regular file` };
    if ((stats.mode & 0o111n) === 0n) return { is: 'refused', why: `${path} is not executable` };
    const why =
      unsafe(target, stats) ??
      unsafeDirectory(folder, folderStats) ??
      unsafeDirectory(parent, parentStats) ??
      unsafeDirectory(root, rootStats);
    if (why !== undefined) return { is: 'refused', why };
    return { is: 'executable', path, identity: identityOf(stats) };
  } catch (err) {
    const code = errorCode(err) ?? 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR') return { is: 'missing' };
    return { is: 'refused', why: `${path} cannot be inspected: ${code}` };
  }
}

/** Why others than root and the kubelet's user can change a file; undefined if they cannot. */
export function unsafe(path: string, { gid, mode, uid }: OwnedFile): string | undefined {
  const ownUid = BigInt(process.getuid?.() ?? 0);
  const ownGid = BigInt(process.getgid?.() ?? 0);
  if (uid !== 0n && uid !== ownUid) return `${path} belongs to user ${uid}, which could change it`;
  if ((mode & 0o002n) !== 0n) return `${path} is writable by all users`;
  if ((mode & 0o020n) !== 0n && gid !== 0n && gid !== ownGid) return `${path} is writable by group ${gid}`;
  return undefined;
}

/** In a sticky directory only the owner of a file replaces it. */
function unsafeDirectory(path: string, stats: OwnedFile): string | undefined {
  return unsafe(path, (stats.mode & sticky) === 0n ? stats : { ...stats, mode: 0n });
}

/** The change time covers a file whose modification time was set back. */
function identityOf({ ctimeNs, dev, ino, mtimeNs, size }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}
