// Lists a directory in slices, so that a million entries neither fill the memory nor block the event loop.
import { opendir, readdir } from 'node:fs/promises';
import { type RawEntry, rawEncoding, rawEntry } from '../raw-names.ts';

/** Entries per slice. */
const sliceSize = 64;
/**
 * One block. File systems report a directory's size in blocks, bytes of names or entries. In each case a directory of this size
 * has at most a few thousand entries, which one call can read. 0 means that the file system reports no size.
 */
const smallBytes = 4096;

/** `sizeBytes` is the size of the directory itself: a small one takes one call instead of four. */
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
