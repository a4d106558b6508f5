// Measures trees of any size in one worker thread of the kubelet, off the event loop. Invariants: at most one active thread, which
// starts on demand and ends when idle; it measures a few trees in turn, and the queue is bounded; every call settles whatever
// happens to the thread, and at once when aborted; a hanging file system fails only its own measurement and leaves an abandoned
// thread behind, of which there may be only a few.
import { setMaxListeners } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { KubeletError } from '../../../base/errors.ts';

export type UsageRequest = { readonly id: number; readonly path: string } | { readonly cancel: number };

export type UsageAnswer =
  | { readonly id: number; readonly usage: DiskUsage }
  | { readonly id: number; readonly code: string | undefined; readonly message: string };

/** Indexes into the memory shared with the thread. */
export const usageState = { current: 0, steps: 1 } as const;
const stateBytes = 8;

interface UsageThreadOptions {
  readonly script: URL;
  /** After this long without a step, the file system counts as hanging. */
  readonly hangMs?: number;
}

/** Enough for the inodes of a million hard-linked files and the names of many directories. */
const memoryMb = 256;
const maxConcurrent = 8;
const maxWaiting = 1_024;
const maxAbandoned = 3;
const idleMs = 250;
/** Deadline for the thread to acknowledge a cancellation. */
const cancelMs = 250;

interface Job {
  readonly id: number;
  readonly path: string;
  readonly resolve: (usage: DiskUsage) => void;
  readonly reject: (err: unknown) => void;
  isSettled: boolean;
  /** Runs from the cancellation until the thread acknowledges it. */
  cancelling: NodeJS.Timeout | undefined;
}

interface Thread {
  readonly worker: Worker;
  readonly state: Int32Array;
  /** Measurements in flight. */
  readonly jobs: Map<number, Job>;
  steps: number;
  watchdog: NodeJS.Timeout | undefined;
  idle: NodeJS.Timeout | undefined;
}

export class UsageThread {
  readonly #script: URL;
  readonly #hangMs: number;
  readonly #waiting: Job[] = [];
  #thread: Thread | undefined;
  #abandoned = 0;
  #lastId = 0;

  constructor({ hangMs = 30_000, script }: UsageThreadOptions) {
    this.#script = script;
    this.#hangMs = hangMs;
  }

  measure(path: string, signal: AbortSignal): Promise<DiskUsage> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(failed('unavailable', path, `${maxWaiting} measurements are waiting`));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#cancel(job, signal.reason);
      const settle = (finish: () => void): void => {
        if (job.isSettled) return;
        job.isSettled = true;
        signal.removeEventListener('abort', onAbort);
        finish();
      };
      const job: Job = {
        id: ++this.#lastId,
        path,
        resolve: (usage) => settle(() => resolve(usage)),
        reject: (err) => settle(() => reject(err)),
        isSettled: false,
        cancelling: undefined,
      };
      // The volumes of a pod are measured under one deadline, and a pod may have many.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(job);
      this.#dispatch();
    });
  }

  #cancel(job: Job, reason: unknown): void {
    const at = this.#waiting.indexOf(job);
    if (at !== -1) this.#waiting.splice(at, 1);
    const thread = this.#thread;
    if (thread?.jobs.has(job.id) === true) {
      post(thread, { cancel: job.id });
      // A thread that is blocked in a file system call receives no messages.
      job.cancelling = setTimeout(
        () => this.#abandon(thread, [job], 'the measurement was cancelled'),
        cancelMs,
      );
      job.cancelling.unref();
    }
    job.reject(reason);
  }

  /** Passes waiting measurements to the thread, up to its limit. */
  #dispatch(): void {
    while (this.#waiting.length > 0 && (this.#thread?.jobs.size ?? 0) < maxConcurrent) {
      if (this.#thread === undefined && this.#abandoned >= maxAbandoned) {
        for (const { path, reject } of this.#waiting.splice(0))
          reject(failed('unavailable', path, `${this.#abandoned} file systems do not respond`));
        return;
      }
      const job = this.#waiting.shift();
      if (job === undefined) return;
      this.#thread ??= this.#start();
      const thread = this.#thread;
      clearTimeout(thread.idle);
      thread.worker.ref();
      thread.jobs.set(job.id, job);
      thread.watchdog ??= this.#watch(thread);
      post(thread, { id: job.id, path: job.path });
    }
  }

  #start(): Thread {
    const shared = new SharedArrayBuffer(stateBytes);
    const worker = new Worker(this.#script, {
      workerData: shared,
      execArgv: [],
      argv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    const state = new Int32Array(shared);
    const thread: Thread = {
      worker,
      state,
      jobs: new Map(),
      steps: -1,
      watchdog: undefined,
      idle: undefined,
    };
    worker.on('message', (answer: UsageAnswer) => this.#answered(thread, answer));
    worker.once('error', (err) =>
      this.#abandon(thread, this.#current(thread), 'the usage thread failed', err),
    );
    worker.once('exit', () => this.#abandon(thread, this.#current(thread), 'the usage thread exited'));
    return thread;
  }

  #answered(thread: Thread, answer: UsageAnswer): void {
    const job = thread.jobs.get(answer.id);
    thread.jobs.delete(answer.id);
    clearTimeout(job?.cancelling);
    if (job !== undefined) {
      if ('usage' in answer) job.resolve(answer.usage);
      else job.reject(refused(job.path, answer));
    }
    this.#dispatch();
    if (thread.jobs.size > 0 || thread !== this.#thread) return;
    clearInterval(thread.watchdog);
    thread.watchdog = undefined;
    // An idle thread must not keep the kubelet from exiting.
    thread.worker.unref();
    thread.idle = setTimeout(() => this.#end(thread), idleMs);
    thread.idle.unref();
  }

  #watch(thread: Thread): NodeJS.Timeout {
    const watchdog = setInterval(() => {
      const steps = Atomics.load(thread.state, usageState.steps);
      if (steps === thread.steps)
        this.#abandon(
          thread,
          this.#current(thread),
          `the file system did not respond for ${this.#hangMs} ms`,
        );
      thread.steps = steps;
    }, this.#hangMs);
    watchdog.unref();
    return watchdog;
  }

  /** The measurement in progress; all of the thread's if that is unknown. */
  #current(thread: Thread): readonly Job[] {
    const job = thread.jobs.get(Atomics.load(thread.state, usageState.current));
    return job === undefined ? [...thread.jobs.values()] : [job];
  }

  /** Takes the thread out of service. `lost` fail; its other measurements are restarted in a new thread. */
  #abandon(thread: Thread, lost: readonly Job[], reason: string, cause?: unknown): void {
    if (thread !== this.#thread) return;
    for (const { cancelling } of thread.jobs.values()) clearTimeout(cancelling);
    for (const job of lost) {
      thread.jobs.delete(job.id);
      job.reject(failed('internal', job.path, reason, cause));
    }
    this.#waiting.unshift(...[...thread.jobs.values()].filter((job) => !job.isSettled));
    thread.jobs.clear();
    this.#end(thread);
    this.#dispatch();
  }

  #end(thread: Thread): void {
    clearInterval(thread.watchdog);
    clearTimeout(thread.idle);
    this.#thread = undefined;
    // Later messages are ignored, but an error without a listener would crash the process.
    thread.worker.removeAllListeners().on('error', () => undefined);
    thread.worker.unref();
    this.#abandoned++;
    // A thread that is blocked in a file system call does not end before the call returns.
    const ended = (): void => {
      this.#abandoned--;
    };
    thread.worker.terminate().then(ended, ended);
  }
}

function post({ worker }: Thread, request: UsageRequest): void {
  // The empty list transfers nothing: all data is copied.
  worker.postMessage(request, []);
}

function refused(
  path: string,
  { code, message }: { readonly code: string | undefined; readonly message: string },
): KubeletError {
  const kind = code === 'ENOENT' || code === 'ENOTDIR' ? 'not-found' : 'internal';
  return new KubeletError(kind, code ?? 'UsageFailed', `cannot measure ${path}: ${message}`);
}

function failed(
  kind: 'internal' | 'unavailable',
  path: string,
  reason: string,
  cause?: unknown,
): KubeletError {
  return new KubeletError(kind, 'UsageFailed', `cannot measure ${path}: ${reason}`, { cause });
}
