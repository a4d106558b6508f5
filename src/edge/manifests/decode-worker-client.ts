// Runs work that would block the event loop in a worker thread, with a deadline and a memory limit.
// Invariants: at most one worker, and none without work; every call settles, even if the worker crashes; the result arrives
// in parts, each in its own turn of the event loop, so that receiving it does not block the loop.
// Upstream has no counterpart: goroutines run on several threads.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { WorkerResponse } from './decode-worker-serve.ts';

export interface DecodeWorkerOptions {
  /** The entry point of the worker, which calls serveWork. */
  readonly script: URL;
  readonly clock: Clock;
  /** Deadline of one call. */
  readonly deadlineMs: number;
  readonly memoryMb: number;
}

export class DecodeWorker {
  readonly #options: DecodeWorkerOptions;
  #worker: Worker | undefined;
  /** The last call of the queue: calls run one at a time, in order. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: DecodeWorkerOptions) {
    this.#options = options;
  }

  /**
   * Rejects as `timeout` or `invalid` if the work takes too much time or memory, as `internal` if the worker crashes, and with
   * the signal's reason on abort. The types of the work and its parts are up to the caller and the entry point.
   */
  call<Part>(work: unknown, signal: AbortSignal): Promise<readonly Part[]> {
    this.#waiting += 1;
    const done = this.#after(this.#last, () => this.#attempt<Part>(work, signal));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #after<Part>(
    before: Promise<unknown>,
    attempt: () => Promise<readonly Part[]>,
  ): Promise<readonly Part[]> {
    await before;
    try {
      return await attempt();
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) await this.#end();
    }
  }

  async #attempt<Part>(work: unknown, signal: AbortSignal): Promise<readonly Part[]> {
    signal.throwIfAborted();
    const worker = this.#start();
    const listening = new AbortController();
    try {
      return await this.#send<Part>(worker, work, AbortSignal.any([signal, listening.signal]), signal);
    } catch (err) {
      // It may still be busy with this call: the next one gets a new worker.
      await this.#end();
      throw err;
    } finally {
      listening.abort();
    }
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(this.#options.script, {
      execArgv: [],
      argv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#options.memoryMb },
    });
    // An error between two calls concerns no caller, but without a listener it would be an uncaught exception.
    worker.on('error', () => undefined);
    this.#worker = worker;
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #send<Part>(
    worker: Worker,
    work: unknown,
    over: AbortSignal,
    signal: AbortSignal,
  ): Promise<readonly Part[]> {
    const { clock, deadlineMs, memoryMb } = this.#options;
    return new Promise((resolve, reject) => {
      const parts: Part[] = [];
      const timer = clock.setTimer(deadlineMs, () =>
        reject(
          new KubeletError(
            'timeout',
            'ManifestTooSlow',
            `takes too long to read: over ${deadlineMs / 1000} s`,
          ),
        ),
      );
      const onMessage = (response: WorkerResponse): void => {
        if (response.is === 'end') {
          resolve(parts);
        } else if (response.is === 'failure') {
          reject(
            new KubeletError('internal', 'ManifestUnreadable', `could not be read: ${response.message}`),
          );
        } else {
          parts.push(response.part as Part);
          worker.postMessage({ is: 'next' }, []);
        }
      };
      const onError = (err: unknown): void => reject(crashError(err, memoryMb));
      const onExit = (): void =>
        reject(
          new KubeletError(
            'internal',
            'ManifestUnreadable',
            'could not be read: the reading thread has ended',
          ),
        );
      const onOver = (): void => {
        timer.cancel();
        worker.off('message', onMessage).off('exit', onExit).off('error', onError);
        // Without effect if the call has settled already.
        reject(signal.reason as Error);
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      over.addEventListener('abort', onOver, { once: true });
      worker.postMessage({ is: 'work', work }, []);
    });
  }
}

function crashError(err: unknown, memoryMb: number): KubeletError {
  if (err instanceof Error && 'code' in err && err.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return new KubeletError(
      'invalid',
      'ManifestTooLarge',
      `needs too much memory to read: over ${memoryMb} MiB`,
    );
  return new KubeletError('internal', 'ManifestUnreadable', 'could not be read', {
    cause: describeError(err),
  });
}
