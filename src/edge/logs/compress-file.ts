// Compresses a rotated log with gzip. Upstream: compressLog in pkg/kubelet/logs.
// Invariants: memory is bounded whatever the size of the file, and zlib runs in the thread pool; the result is complete and on disk
// when the call returns, and does not exist if it fails.
// differs from upstream: there errors of the last writes are ignored, and then the original is deleted.
import { closeSync, constants, fchmod, fchown, fstatSync, fsync, write } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { openFile, openRegular, readInto } from '../files/small-files.ts';

const writeFrom = promisify(write);
const changeMode = promisify(fchmod);
const changeOwner = promisify(fchown);
const flush = promisify(fsync);

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const chunkBytes = 64 * 1024;
const permissionBits = 0o7777;

/** `from` and `to` are entries of an open directory. EEXIST if `to` exists. */
export async function compressFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  const { fd: source, stats } = await openRegular(from);
  try {
    signal.throwIfAborted();
    const target = await openFile(to, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
    try {
      try {
        await changeOwner(target, stats.uid, stats.gid);
        await pipeline(chunksOf(source, signal), createGzip({ chunkSize: chunkBytes }), writeTo(target), {
          signal,
        });
        // A change of owner clears mode bits, so the mode is set after it.
        await changeMode(target, stats.mode & permissionBits);
        await flush(target);
      } finally {
        closeSync(target);
      }
    } catch (err) {
      // Removed already if the container's logs were removed meanwhile.
      await unlink(to).catch(() => undefined);
      throw err;
    }
  } finally {
    closeSync(source);
  }
}

/** Up to the present end: a file that grows meanwhile is not followed. */
async function* chunksOf(fd: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { size } = fstatSync(fd);
  for (let at = 0; at < size && !signal.aborted; ) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - at));
    const { bytesRead } = await readInto(fd, buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function writeTo(fd: number): (chunks: AsyncIterable<Uint8Array>) => Promise<void> {
  return async (chunks) => {
    for await (const chunk of chunks) {
      for (let done = 0; done < chunk.length; ) {
        const { bytesWritten } = await writeFrom(fd, chunk, done, chunk.length - done, null);
        done += bytesWritten;
      }
    }
  };
}
