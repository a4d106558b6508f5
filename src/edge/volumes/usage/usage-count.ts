// Sums up the usage of a tree. Invariants: entries of other file systems are not counted; a hard-linked file counts once.
// Upstream: pkg/volume/util/fs (DiskUsage).
import type { BigIntStats } from 'node:fs';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { errorCode } from '../../syscalls/syscalls-errors.ts';

const blockBytes = 512n;
/** Bound for the remembered hard-linked files. */
const maxSeen = 1_000_000;

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

  /** True for a directory whose entries are to be counted. */
  add(stat: BigIntStats): boolean {
    if (stat.dev !== this.#dev) return false;
    if (stat.nlink > 1n && !stat.isDirectory()) {
      if (this.#seen.has(stat.ino)) return false;
      if (this.#seen.size >= maxSeen) return this.#addShare(stat);
      this.#seen.add(stat.ino);
    }
    this.#blocks += stat.blocks;
    this.#inodes++;
    return stat.isDirectory();
  }

  /** Beyond the bound each link counts its share of the file, which adds up if all links are in the tree. */
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

/** Whether an entry was removed during the walk. */
export function isGone(err: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '');
}
