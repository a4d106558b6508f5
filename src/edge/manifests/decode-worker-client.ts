// Work that would hold the event loop is done in a worker thread instead, within a time and within memory of its own.
// Invariants: one worker at most, and none where there is no work; whatever becomes of the worker, each call settles;
// the answer arrives in parts, each in a turn of the loop of its own, so that taking it over does not hold the loop.
// Serves no upstream package: Go has threads under every routine.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { WorkerAnswer } from './decode-worker-serve.ts';

export interface DecodeWorkerOptions {
  /** The entry point of the worker, which calls serveWork. */
  readonly script: URL;
  readonly clock: Clock;
  /** How long one piece of work may take. */
  readonly deadlineMs: number;
  readonly memoryMb: number;
}

export class DecodeWorker {
  readonly #options: DecodeWorkerOptions;
  #worker: Worker | undefined;
  /** The end of the queue: work is done one by one, in the order in which it came. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: DecodeWorkerOptions) {
    this.#options = options;
  }

  /**
   * Rejects as `timeout` or `invalid` when the work takes too much time or memory, as `internal` when the worker breaks
   * down, and with the signal's reason. What the work and its parts are is between the caller and the entry point.
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
      return await this.#ask<Part>(worker, work, AbortSignal.any([signal, listening.signal]), signal);
    } catch (err) {
      // In the middle of something: of no use for the next one.
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
    // An error between two pieces of work is nobody's, but without a listener it would be the whole process's.
    worker.on('error', () => undefined);
    this.#worker = worker;
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #ask<Part>(
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
      const onMessage = (answer: WorkerAnswer): void => {
        if (answer.is === 'end') {
          resolve(parts);
        } else if (answer.is === 'failure') {
          reject(new KubeletError('internal', 'ManifestUnreadable', `could not be read: ${answer.message}`));
        } else {
          parts.push(answer.part as Part);
          worker.postMessage({ is: 'next' }, []);
        }
      };
      const onError = (err: unknown): void => reject(breakdown(err, memoryMb));
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
        // Of no effect when the end came from inside.
        reject(signal.reason as Error);
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      over.addEventListener('abort', onOver, { once: true });
      worker.postMessage({ is: 'work', work }, []);
    });
  }
}

function breakdown(err: unknown, memoryMb: number): KubeletError {
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
