// Reads a table that the kernel prints when it is read, such as the mount table. The kernel returns at most a page per read call,
// and each call of Node's is a trip to the thread pool; fread() of the C library makes all of them in one trip.
// Invariant: at most one read at a time per reader, since it keeps its buffer.
import { KubeletError } from '../../base/errors.ts';
import { type AsyncCall, type Koffi, loadPool } from '../volumes/pool-calls.ts';

/** Resolves to the whole text. */
export type ReadKernelTable = (path: string) => Promise<string>;

/** A table of some 300 mounts. */
const initialBytes = 64 * 1024;
/** The kernel limits a namespace to 100,000 mounts of about 200 bytes each; overlay mounts take more. */
const limitBytes = 256 * 1024 * 1024;

type Stream = object | null;

function bind(koffi: Koffi) {
  const libc = koffi.load(null);
  return {
    // Opening and closing an entry of /proc waits for nothing.
    fopen: libc.func('fopen', 'void *', ['str', 'str']) as (path: string, mode: string) => Stream,
    fread: libc.func('fread', 'size_t', ['void *', 'size_t', 'size_t', 'void *']) as unknown as AsyncCall<
      [Uint8Array, number, number, Stream]
    >,
    ferror: libc.func('ferror', 'int', ['void *']) as (stream: Stream) => number,
    fclose: libc.func('fclose', 'int', ['void *']) as (stream: Stream) => number,
  };
}

export async function loadTableReader(): Promise<ReadKernelTable> {
  const { koffi, inPool } = await loadPool();
  const { fclose, ferror, fopen, fread } = bind(koffi);
  let buffer = Buffer.allocUnsafe(initialBytes);
  return async (path) => {
    const stream = fopen(path, 're');
    if (stream === null) throw failure(path, `errno ${koffi.errno()}`);
    try {
      for (let length = 0; ; ) {
        // It returns less only at the end, or after an error.
        length += await inPool(fread, buffer.subarray(length), 1, buffer.length - length, stream);
        if (ferror(stream) !== 0) throw failure(path, 'the kernel reported an error');
        if (length < buffer.length) return buffer.toString('utf8', 0, length);
        if (length >= limitBytes) throw failure(path, `it has more than ${limitBytes} bytes`);
        buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
      }
    } finally {
      fclose(stream);
    }
  };
}

function failure(path: string, why: string): KubeletError {
  return new KubeletError('internal', 'FailedRead', `cannot read ${path}: ${why}`, { details: { path } });
}
