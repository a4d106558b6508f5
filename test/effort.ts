// How much a test that repeats, fuzzes or fills a disk does: little in `make check`, everything in `make test`.
// TEST_EFFORT=full selects everything. The quick form must reach the same code paths.

import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';

const isFull = process.env['TEST_EFFORT'] === 'full';

/** The first number in `make check`, the second in `make test`. */
export function effort(quick: number, full: number): number {
  return isFull ? full : quick;
}

/**
 * Where tests create thousands of files: in memory in `make check`, since creating and deleting them takes ext4 seconds when the
 * disk is busy; on disk in `make test`.
 */
export function manyFilesRoot(): string {
  const memory = '/dev/shm';
  if (isFull) return tmpdir();
  try {
    accessSync(memory, constants.W_OK);
    return memory;
  } catch {
    return tmpdir();
  }
}
