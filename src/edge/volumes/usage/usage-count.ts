// What counts when a tree is measured. Invariants: no other file system than the root's; a file with several names counts once.
// Upstream: pkg/volume/util/fs (DiskUsage).
import type { BigIntStats } from 'node:fs';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { errorCode } from '../../syscalls/syscalls-errors.ts';

const blockBytes = 512n;
/** Files with several names that are remembered. */
const mostSeen = 1_000_000;

export class UsageCount {
  readonly #dev: bigint;
  readonly #seen = new Set<bigint>();
  #blocks = 0n;
  #inodes = 0;
  #shares = 0;

  constructor(root: BigIntStats) {
    this.#dev = root.dev;
    this.add(root);
  }

  /** True for a directory whose entries count, too. */
  add(stat: BigIntStats): boolean {
    if (stat.dev !== this.#dev) return false;
    if (stat.nlink > 1n && !stat.isDirectory()) {
      if (this.#seen.has(stat.ino)) return false;
      if (this.#seen.size >= mostSeen) return this.#addShare(stat);
      this.#seen.add(stat.ino);
    }
    this.#blocks += stat.blocks;
    this.#inodes++;
    return stat.isDirectory();
  }

  /** No tree makes the kubelet remember more: each name counts its part of the file, which is the same when all names are here. */
  #addShare({ blocks, nlink }: BigIntStats): false {
    this.#blocks += blocks / nlink;
    this.#shares += 1 / Number(nlink);
    return false;
  }

  total(): DiskUsage {
    return {
      bytes: Number(this.#blocks * blockBytes),
      inodes: this.#inodes + Math.round(this.#shares),
      source: 'du',
    };
  }
}

/** Files come and go while we look. */
export function isGone(err: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '');
}
