// A directory's entries a slice at a time: one of a million entries is never in memory whole, and the event loop goes on.
import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';

/** Entries that are worked on at once. */
const sliceSize = 64;

export async function* directorySlices(path: string): AsyncGenerator<readonly Dirent[]> {
  let slice: Dirent[] = [];
  for await (const entry of await opendir(path, { bufferSize: sliceSize })) {
    slice.push(entry);
    if (slice.length < sliceSize) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
