// The file that checkpoints probe results. Invariant: a reader sees the old text or the new one, whenever the kubelet is killed.
// A node that loses power loses its containers too, so the file is not synced to disk.
import { mkdir, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from '../files/pod-files.ts';
import { createFile, readSmallFile } from '../files/small-files.ts';

/** More than any node needs; a larger file was not written by the kubelet. */
const limitBytes = 4 * 1024 * 1024;

export function resultFile(path: string): {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
} {
  return {
    read: async () => {
      try {
        return await readSmallFile(path, { limitBytes });
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause });
      }
    },
    write: async (text) => {
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o750 });
        // Left over from a kubelet that was killed here.
        await unlink(`${path}.new`).catch((err: unknown) => {
          if (!isMissing(err)) throw err;
        });
        await createFile(`${path}.new`, { data: text, mode: 0o600 });
        await rename(`${path}.new`, path);
      } catch (cause) {
        throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
      }
    },
  };
}
