// A directory's entries a slice at a time: one of a million entries is never in memory whole, and the event loop goes on.
import { opendir, readdir } from 'node:fs/promises';
import { type RawEntry, rawEncoding, rawEntry } from '../raw-names.ts';

/** Entries that are worked on at once. */
const sliceSize = 64;
/**
 * One block. File systems count a directory's size in blocks, in bytes of its names or in entries; in each case it has at
 * most some thousand entries, which one call may read. 0 is what those say that do not count.
 */
const smallBytes = 4096;

/** `sizeBytes` is the directory's own size: a small one is read by one call instead of four. */
export async function* directorySlices(
  path: string | Buffer,
  sizeBytes: number,
): AsyncGenerator<readonly RawEntry[]> {
  if (sizeBytes > 0 && sizeBytes <= smallBytes) {
    const found = await readdir(path, { withFileTypes: true, encoding: rawEncoding });
    const entries = found.map(rawEntry);
    for (let at = 0; at < entries.length; at += sliceSize) yield entries.slice(at, at + sliceSize);
    return;
  }
  let slice: RawEntry[] = [];
  for await (const entry of await opendir(path, { bufferSize: sliceSize, encoding: rawEncoding })) {
    slice.push(rawEntry(entry));
    if (slice.length < sliceSize) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
