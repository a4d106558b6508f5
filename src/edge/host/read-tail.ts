// The end of a file, without reading the rest. Upstream: pkg/util/tail (ReadAtMost).
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from './pod-files.ts';

export async function readTail(
  path: string,
  bytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly whole: boolean } | undefined> {
  try {
    // Without waiting: what is no regular file must not hold up an inspection.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new Error('it is not a regular file');
      const { size } = stat;
      const length = Math.min(size, bytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return { bytes: buffer.subarray(0, bytesRead), whole: length === size };
    } finally {
      await file.close();
    }
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause: err });
  }
}
