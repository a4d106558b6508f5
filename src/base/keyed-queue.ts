// The queue of every loop: keys in, one run per key at a time, in order of arrival.
// Upstream: client-go/util/workqueue and the queue of pkg/kubelet/pod_workers.go.
// Invariants: never two runs of one key at once; never more than `parallel` runs; every add(key) is followed by a run of that
// key that begins after it, unless the queue is stopped; at most one timer per key. Runs begin in a microtask, never inside
// add(), so a writer may call add() in the middle of an update; nor do they belong to the trace of its caller.
import { AsyncResource } from 'node:async_hooks';
import type { Clock, Timer } from './clock.ts';
import type { LoopLoad } from './component.ts';
import { Aborted, isAbortOf } from './errors.ts';
import { reportUncaught } from './log/report-uncaught.ts';
import { keyText } from './loop-load.ts';

export interface KeyedQueueOptions<K> {
  readonly clock: Clock;
  /** How many keys may run at once. */
  readonly parallel: number;
  /** Reconciles the key. A rejection schedules a retry after the backoff. */
  readonly run: (key: K, signal: AbortSignal) => Promise<void>;
  /** After the n-th failure in a row: min(initialMs × 2^(n-1), maxMs), extended by up to `jitter` (0.5 is 50 %). */
  readonly backoff: { readonly initialMs: number; readonly maxMs: number; readonly jitter?: number };
  /** In [0, 1). */
  readonly random?: () => number;
  /** A run failed and is retried after retryInMs. Not called for a run that ended because it was cancelled. */
  readonly onError?: (key: K, err: unknown, retryInMs: number) => void;
}

interface Wake {
  readonly timer: Timer;
  readonly dueMs: number;
  /** True after addAfter(); false for a retry only, which a success cancels. */
  requested: boolean;
}

interface Entry {
  queued: boolean;
  dirty: boolean;
  /** As `dirty`, but dropped if the run in flight fails: its retry reads the current state anyway. */
  dirtyUnlessRetried: boolean;
  running: AbortController | undefined;
  /** When the last run began, by the monotonic clock. */
  runSinceMs: number;
  wake: Wake | undefined;
  failures: number;
}

type Phase = 'new' | 'started' | 'stopped';

/** Consumed entries at the front of the waiting list before it is compacted. */
const compactAbove = 256;

export class KeyedQueue<K> {
  readonly #options: KeyedQueueOptions<K>;
  readonly #run: KeyedQueueOptions<K>['run'];
  /** Holds a key only while it is queued, running or timed. */
  readonly #entries = new Map<K, Entry>();
  #waiting: K[] = [];
  #waitingHead = 0;
  #running = 0;
  #phase: Phase = 'new';
  #pumpPlanned = false;
  readonly #onDrained: (() => void)[] = [];

  constructor(options: KeyedQueueOptions<K>) {
    if (!(options.parallel >= 1))
      throw new RangeError(`parallel must be at least 1, got ${options.parallel}`);
    this.#options = options;
    // In the asynchronous context of the constructor, which has no trace.
    this.#run = AsyncResource.bind(options.run);
  }

  /** Something about this key may have changed. Cheap, idempotent, safe from anywhere. */
  add(key: K): void {
    if (this.#phase === 'stopped') return;
    this.#enqueue(key, this.#entry(key));
  }

  /** As add(), but a key that is backing off waits for its retry. For callers that do not know whether anything changed. */
  addUnlessBackingOff(key: K): void {
    const entry = this.#entries.get(key);
    if (entry?.running !== undefined) entry.dirtyUnlessRetried = true;
    else if (entry === undefined || !awaitsRetry(entry)) this.add(key);
  }

  /** As add(), after ms. The earliest of several wins: the run reads the current state and schedules the next wake itself. */
  addAfter(key: K, ms: number): void {
    if (this.#phase === 'stopped') return;
    this.#wakeAfter(key, this.#entry(key), ms, true);
  }

  /** Aborts the run in flight, if any. The key runs again only if it was added meanwhile. */
  cancel(key: K, reason: unknown = new Aborted('run was cancelled')): void {
    this.#entries.get(key)?.running?.abort(reason);
  }

  /** Clears backoff and timer of a removed key. A queued or running key stays so. */
  forget(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.failures = 0;
    this.#clearWake(entry);
    this.#dropIfIdle(key, entry);
  }

  /** Whether the key is queued, running or timed. */
  isActive(key: K): boolean {
    return this.#entries.has(key);
  }

  isRunning(key: K): boolean {
    return this.#entries.get(key)?.running !== undefined;
  }

  /** Counts the active keys; takes time in proportion to them, and nothing is counted in between. */
  load(): LoopLoad {
    let queued = 0;
    let backingOff = 0;
    let oldest: readonly [key: K, sinceMs: number] | undefined;
    for (const [key, entry] of this.#entries) {
      // A queue that was never started is not behind.
      if (entry.queued && this.#phase === 'started') queued++;
      if (entry.running === undefined) {
        if (!entry.queued && awaitsRetry(entry)) backingOff++;
      } else if (oldest === undefined || entry.runSinceMs < oldest[1]) oldest = [key, entry.runSinceMs];
    }
    const oldestRunMs = oldest && this.#options.clock.monotonic() - oldest[1];
    return { running: this.#running, queued, backingOff, oldestRunMs, oldestKey: keyText(oldest?.[0]) };
  }

  /** Starts running the added keys. A stopped queue stays stopped. */
  start(): void {
    if (this.#phase !== 'new') return;
    this.#phase = 'started';
    this.#planPump();
  }

  /** Rejects new keys, drops queued ones and cancels timers; resolves when the last run in flight has ended. */
  async stop(): Promise<void> {
    this.#phase = 'stopped';
    this.#waiting = [];
    this.#waitingHead = 0;
    for (const [key, entry] of this.#entries) {
      entry.queued = false;
      entry.dirty = false;
      entry.dirtyUnlessRetried = false;
      this.#clearWake(entry);
      this.#dropIfIdle(key, entry);
    }
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onDrained.push(resolve));
  }

  /** Aborts every run in flight, for a stop() that does not drain. */
  abortAll(reason: unknown = new Aborted('all runs were cancelled')): void {
    for (const entry of this.#entries.values()) entry.running?.abort(reason);
  }

  #entry(key: K): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      queued: false,
      dirty: false,
      dirtyUnlessRetried: false,
      running: undefined,
      runSinceMs: 0,
      wake: undefined,
      failures: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #dropIfIdle(key: K, entry: Entry): void {
    if (!entry.queued && entry.running === undefined && entry.wake === undefined) this.#entries.delete(key);
  }

  #enqueue(key: K, entry: Entry): void {
    if (entry.running !== undefined) {
      entry.dirty = true;
      return;
    }
    if (entry.queued) return;
    entry.queued = true;
    this.#waiting.push(key);
    this.#planPump();
  }

  #wakeAfter(key: K, entry: Entry, ms: number, requested: boolean): void {
    const { clock } = this.#options;
    const dueMs = clock.monotonic() + ms;
    if (entry.wake !== undefined && entry.wake.dueMs <= dueMs) {
      entry.wake.requested ||= requested;
      return;
    }
    const requestedBefore = entry.wake?.requested ?? false;
    this.#clearWake(entry);
    const timer = clock.setTimer(ms, () => {
      entry.wake = undefined;
      this.#enqueue(key, entry);
    });
    entry.wake = { timer, dueMs, requested: requested || requestedBefore };
  }

  #clearWake(entry: Entry): void {
    entry.wake?.timer.cancel();
    entry.wake = undefined;
  }

  #planPump(): void {
    if (this.#pumpPlanned || this.#phase !== 'started') return;
    this.#pumpPlanned = true;
    queueMicrotask(() => {
      this.#pumpPlanned = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#running < this.#options.parallel && this.#waitingHead < this.#waiting.length) {
      const key = this.#waiting[this.#waitingHead++] as K;
      const entry = this.#entry(key);
      entry.queued = false;
      // #runOnce never rejects, even if run() throws synchronously.
      void this.#runOnce(key, entry);
    }
    if (this.#waitingHead === this.#waiting.length || this.#waitingHead > compactAbove) {
      this.#waiting = this.#waiting.slice(this.#waitingHead);
      this.#waitingHead = 0;
    }
  }

  async #runOnce(key: K, entry: Entry): Promise<void> {
    const abort = new AbortController();
    entry.running = abort;
    entry.runSinceMs = this.#options.clock.monotonic();
    this.#running++;
    try {
      await this.#run(key, abort.signal);
      this.#succeeded(entry);
    } catch (err) {
      this.#failed(key, entry, err, abort.signal);
    }
    entry.running = undefined;
    this.#running--;
    const isDirty = entry.dirty || (entry.dirtyUnlessRetried && !awaitsRetry(entry));
    entry.dirty = false;
    entry.dirtyUnlessRetried = false;
    if (isDirty) this.#enqueue(key, entry);
    this.#dropIfIdle(key, entry);
    if (this.#phase === 'started') this.#pump();
    else if (this.#running === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  #succeeded(entry: Entry): void {
    entry.failures = 0;
    if (entry.wake?.requested === false) this.#clearWake(entry);
  }

  #failed(key: K, entry: Entry, err: unknown, signal: AbortSignal): void {
    // Only the abort of this run's own signal counts; any other abort is a failure and is retried.
    if (isAbortOf(err, signal)) return;
    const { backoff, random = Math.random, onError } = this.#options;
    const plainMs = Math.min(backoff.initialMs * 2 ** entry.failures, backoff.maxMs);
    const retryInMs = plainMs * (1 + (backoff.jitter ?? 0) * random());
    entry.failures++;
    if (this.#phase === 'started') this.#wakeAfter(key, entry, retryInMs, false);
    try {
      onError?.(key, err, retryInMs);
    } catch (thrown) {
      reportUncaught(thrown);
    }
  }
}

function awaitsRetry({ failures, wake }: Entry): boolean {
  return failures > 0 && wake !== undefined;
}
