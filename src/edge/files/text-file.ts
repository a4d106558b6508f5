// Reads and watches a small file that another program may replace at any time.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { watchPath } from '../manifests/watch-dir.ts';

export function textFile(clock: Clock) {
  return {
    read: async (path: string, signal: AbortSignal): Promise<string> => {
      try {
        return await readFile(path, { encoding: 'utf8', signal });
      } catch (cause) {
        throw new KubeletError('invalid', 'UnreadableFile', `cannot read ${path}`, { cause });
      }
    },
    watch: (path: string, onChange: () => void, onError: (err: unknown) => void) =>
      watchPath({ path, clock, onChange, onError }),
  };
}
