// Reads the beginning of a file whose size another process decides.
import { open } from 'node:fs/promises';

/** At most `bytes`. Files of /proc have no size, so it reads until the end or the limit. */
export async function readHead(path: string, bytes: number): Promise<string> {
  const file = await open(path);
  try {
    const chunks: Buffer[] = [];
    for (let left = bytes; left > 0; ) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(left, 64 * 1024)));
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      left -= bytesRead;
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    await file.close();
  }
}
