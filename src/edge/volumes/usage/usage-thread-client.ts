// Measures trees of any size in one thread for the whole kubelet, so that the event loop has nothing to do with it. Invariants:
// there is one thread at most, started when it is needed and ended when it is idle; it works on few trees at once, in turn, and
// only so many wait; every call settles whatever becomes of the thread, at once when it is given up; a file system that hangs
// costs its own tree's measurement and a thread that is left behind, of which there may be few, and no other tree's.
import { Worker } from 'node:worker_threads';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { KubeletError } from '../../../base/errors.ts';

export type UsageRequest = { readonly id: number; readonly path: string } | { readonly cancel: number };

export type UsageAnswer =
  | { readonly id: number; readonly usage: DiskUsage }
  | { readonly id: number; readonly code: string | undefined; readonly message: string };

/** Places in the memory that is shared with the thread. */
export const usageState = { current: 0, steps: 1 } as const;
const stateBytes = 8;

interface UsageThreadOptions {
  readonly script: URL;
  /** How long the thread may make no step before its file system is taken to hang. */
  readonly hangMs?: number;
}

/** Enough for the inodes of a million files with several names, and the names of many directories. */
const memoryMb = 256;
const mostAtOnce = 8;
const mostWaiting = 1_024;
const mostLeftBehind = 3;
const idleMs = 250;
/** Within which the thread acknowledges that a tree was given up. */
const cancelMs = 250;

interface Job {
  readonly id: number;
  readonly path: string;
  readonly resolve: (usage: DiskUsage) => void;
  readonly reject: (err: unknown) => void;
  isSettled: boolean;
  /** Runs from when it was given up until the thread acknowledges that. */
  cancelling: NodeJS.Timeout | undefined;
}

interface Thread {
  readonly worker: Worker;
  readonly state: Int32Array;
  /** What it was given and has not answered. */
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
  #leftBehind = 0;
  #lastId = 0;

  constructor({ hangMs = 30_000, script }: UsageThreadOptions) {
    this.#script = script;
    this.#hangMs = hangMs;
  }

  measure(path: string, signal: AbortSignal): Promise<DiskUsage> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#waiting.length >= mostWaiting)
      return Promise.reject(failed('unavailable', path, `${mostWaiting} others are waiting`));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#giveUp(job, signal.reason);
      const settle = (how: () => void): void => {
        if (job.isSettled) return;
        job.isSettled = true;
        signal.removeEventListener('abort', onAbort);
        how();
      };
      const job: Job = {
        id: ++this.#lastId,
        path,
        resolve: (usage) => settle(() => resolve(usage)),
        reject: (err) => settle(() => reject(err)),
        isSettled: false,
        cancelling: undefined,
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(job);
      this.#fill();
    });
  }

  #giveUp(job: Job, reason: unknown): void {
    const at = this.#waiting.indexOf(job);
    if (at !== -1) this.#waiting.splice(at, 1);
    const thread = this.#thread;
    if (thread?.jobs.has(job.id) === true) {
      post(thread, { cancel: job.id });
      // A thread that is inside a call to a file system hears nothing.
      job.cancelling = setTimeout(() => this.#abandon(thread, [job], 'given up'), cancelMs);
      job.cancelling.unref();
    }
    job.reject(reason);
  }

  /** Gives the thread what it can take. */
  #fill(): void {
    while (this.#waiting.length > 0 && (this.#thread?.jobs.size ?? 0) < mostAtOnce) {
      if (this.#thread === undefined && this.#leftBehind >= mostLeftBehind) {
        for (const { path, reject } of this.#waiting.splice(0))
          reject(failed('unavailable', path, `${this.#leftBehind} file systems do not answer`));
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
    worker.once('error', (err) => this.#abandon(thread, this.#current(thread), 'its thread failed', err));
    worker.once('exit', () => this.#abandon(thread, this.#current(thread), 'its thread has ended'));
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
    this.#fill();
    if (thread.jobs.size > 0 || thread !== this.#thread) return;
    clearInterval(thread.watchdog);
    thread.watchdog = undefined;
    // Waiting for more must not keep the kubelet from ending.
    thread.worker.unref();
    thread.idle = setTimeout(() => this.#end(thread), idleMs);
    thread.idle.unref();
  }

  #watch(thread: Thread): NodeJS.Timeout {
    const watchdog = setInterval(() => {
      const steps = Atomics.load(thread.state, usageState.steps);
      if (steps === thread.steps)
        this.#abandon(thread, this.#current(thread), `no answer from its file system for ${this.#hangMs} ms`);
      thread.steps = steps;
    }, this.#hangMs);
    watchdog.unref();
    return watchdog;
  }

  /** What it was working on; all it has when that is unknown. */
  #current(thread: Thread): readonly Job[] {
    const job = thread.jobs.get(Atomics.load(thread.state, usageState.current));
    return job === undefined ? [...thread.jobs.values()] : [job];
  }

  /** Takes the thread out of service. `lost` fail; what else it had is begun anew in another one. */
  #abandon(thread: Thread, lost: readonly Job[], why: string, cause?: unknown): void {
    if (thread !== this.#thread) return;
    for (const { cancelling } of thread.jobs.values()) clearTimeout(cancelling);
    for (const job of lost) {
      thread.jobs.delete(job.id);
      job.reject(failed('internal', job.path, why, cause));
    }
    this.#waiting.unshift(...[...thread.jobs.values()].filter((job) => !job.isSettled));
    thread.jobs.clear();
    this.#end(thread);
    this.#fill();
  }

  #end(thread: Thread): void {
    clearInterval(thread.watchdog);
    clearTimeout(thread.idle);
    this.#thread = undefined;
    // What it says after this is of no use, but an error without a listener would be the whole process's.
    thread.worker.removeAllListeners().on('error', () => undefined);
    thread.worker.unref();
    this.#leftBehind++;
    // A thread inside a call to a file system that hangs does not end before that call does.
    const ended = (): void => {
      this.#leftBehind--;
    };
    thread.worker.terminate().then(ended, ended);
  }
}

function post({ worker }: Thread, request: UsageRequest): void {
  // The list: nothing is handed over, everything is copied.
  worker.postMessage(request, []);
}

function refused(
  path: string,
  { code, message }: { readonly code: string | undefined; readonly message: string },
): KubeletError {
  const kind = code === 'ENOENT' || code === 'ENOTDIR' ? 'not-found' : 'internal';
  return new KubeletError(kind, code ?? 'UsageFailed', `cannot measure ${path}: ${message}`);
}

function failed(kind: 'internal' | 'unavailable', path: string, why: string, cause?: unknown): KubeletError {
  return new KubeletError(kind, 'UsageFailed', `cannot measure ${path}: ${why}`, { cause });
}
