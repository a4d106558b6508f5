// What counts when a tree is measured. Invariants: no other file system than the root's; a file with several names counts once.
// Upstream: pkg/volume/util/fs (DiskUsage).
import type { BigIntStats } from 'node:fs';
import type { DiskUsage } from '../../api/volume-host.ts';
import { errorCode } from '../host/syscalls-errors.ts';

const blockBytes = 512n;

export class UsageCount {
  readonly #dev: bigint;
  readonly #seen = new Set<bigint>();
  #blocks = 0n;
  #inodes = 0;

  constructor(root: BigIntStats) {
    this.#dev = root.dev;
    this.add(root);
  }

  /** True for a directory whose entries count, too. */
  add(stat: BigIntStats): boolean {
    if (stat.dev !== this.#dev) return false;
    if (stat.nlink > 1n && !stat.isDirectory()) {
      if (this.#seen.has(stat.ino)) return false;
      this.#seen.add(stat.ino);
    }
    this.#blocks += stat.blocks;
    this.#inodes++;
    return stat.isDirectory();
  }

  total(): DiskUsage {
    return { bytes: Number(this.#blocks * blockBytes), inodes: this.#inodes, source: 'du' };
  }
}

/** Files come and go while we look. */
export function isGone(err: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(err) ?? '');
}
