// Measures a tree of any size in a thread of its own, so that the event loop has nothing to do with it. Invariants: the call
// settles whatever becomes of the thread, at once when it is given up; no thread outlives its call.
import { Worker } from 'node:worker_threads';
import type { DiskUsage } from '../../api/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';

export type UsageAnswer =
  | { readonly usage: DiskUsage }
  | { readonly code: string | undefined; readonly message: string };

/** Enough for the inodes of many millions of files with several names. */
const memoryMb = 256;

export function usageInThread(script: URL, path: string, signal: AbortSignal): Promise<DiskUsage> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const worker = new Worker(script, {
      workerData: path,
      execArgv: [],
      argv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    const end = (settle: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      // What it says after this is nobody's business any more, but an error without a listener would be the whole process's.
      worker.removeAllListeners().on('error', () => undefined);
      void worker.terminate().then(settle, settle);
    };
    const onAbort = (): void => end(() => reject(signal.reason as Error));
    signal.addEventListener('abort', onAbort, { once: true });
    worker.once('message', (answer: UsageAnswer) =>
      end(() => ('usage' in answer ? resolve(answer.usage) : reject(failed(path, answer)))),
    );
    worker.once('error', (err) =>
      end(() =>
        reject(new KubeletError('internal', 'UsageFailed', `cannot measure ${path}`, { cause: err })),
      ),
    );
    worker.once('exit', () =>
      end(() =>
        reject(new KubeletError('internal', 'UsageFailed', `the thread that measures ${path} has ended`)),
      ),
    );
  });
}

function failed(
  path: string,
  { code, message }: { readonly code: string | undefined; readonly message: string },
): KubeletError {
  const kind = code === 'ENOENT' || code === 'ENOTDIR' ? 'not-found' : 'internal';
  return new KubeletError(kind, code ?? 'UsageFailed', `cannot measure ${path}: ${message}`);
}
