// The file that remembers probe results between two lives of the kubelet. Invariant: who reads sees the old text or the new one,
// whenever the kubelet is killed. A node that loses power loses its containers too, so nothing is forced onto the platter.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { isMissing } from '../host/pod-files.ts';

/** Larger than any node can fill it; what is larger is not ours. */
const limitBytes = 4 * 1024 * 1024;

export function resultFile(path: string): {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
} {
  return {
    read: async () => {
      try {
        const bytes = await readFile(path);
        if (bytes.length > limitBytes)
          throw new KubeletError('invalid', 'TooLarge', `it is larger than ${limitBytes} bytes`);
        return bytes.toString('utf8');
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause });
      }
    },
    write: async (text) => {
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o750 });
        await writeFile(`${path}.new`, text, { mode: 0o600 });
        await rename(`${path}.new`, path);
      } catch (cause) {
        throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
      }
    },
  };
}
