// Reads the sizes of current logs: often while containers write, not at all while they are silent, since the next write is notified.
// Invariants: one timer for all logs; an event that is lost delays a rotation by monitorIntervalMs at most; a container that
// writes continuously causes no event per write.
import type { Clock, Timer } from '../base/clock.ts';
import { computeNextSample, takeSample } from './next-sample.ts';
import type { LiveLog } from './rotation-host.ts';
import { SampleTimer } from './sample-timer.ts';
import type { TrackedLog } from './tracked-log.ts';

const gridMs = 50;

interface LogSamplerOptions {
  readonly clock: Clock;
  /** Infinity: no log becomes full. */
  readonly maxBytes: number;
  readonly monitorIntervalMs: number;
  readonly logs: () => Iterable<TrackedLog>;
  /** The log is full, or its current file may no longer be the one at its path. It is no longer sampled until begin(). */
  readonly onDue: (log: TrackedLog) => void;
}

export class LogSampler {
  readonly #options: LogSamplerOptions;
  readonly #timer: SampleTimer<TrackedLog>;
  #monitor: Timer | undefined;

  constructor(options: LogSamplerOptions) {
    this.#options = options;
    this.#timer = new SampleTimer(options.clock, options.logs, (log) => this.#sample(log));
  }

  start(): void {
    const { clock, logs, monitorIntervalMs } = this.#options;
    this.#monitor = clock.setTimer(monitorIntervalMs, () => {
      for (const log of logs()) this.#monitorLog(log);
      this.start();
    });
  }

  /** The limit or the interval has changed. */
  restart(): void {
    this.#monitor?.cancel();
    this.start();
    for (const log of this.#options.logs()) if (isFollowed(log)) this.begin(log);
  }

  stop(): void {
    this.#monitor?.cancel();
    this.#timer.stop();
  }

  /** Samples this log from now on. */
  begin(log: TrackedLog): void {
    log.unwatch();
    log.lastSample = undefined;
    this.#sample(log);
  }

  /** Covers lost events. */
  #monitorLog(log: TrackedLog): void {
    const { live } = log;
    if (live === undefined || !isFollowed(log)) return;
    const { bytes, hasName } = live.stat();
    const hasGrown = log.lastSample?.bytes !== bytes;
    // Without a watch, nothing reports that the file was renamed.
    if (!hasName || (!log.isWatched && !hasGrown)) this.#suspect(log);
    else if (log.isWatched && hasGrown) this.begin(log);
  }

  #sample(log: TrackedLog): void {
    const { clock, maxBytes, onDue } = this.#options;
    log.dueMs = undefined;
    const { live } = log;
    if (!log.isRunning || live === undefined) return;
    const { bytes, hasName } = live.stat();
    if (!hasName) {
      this.#suspect(log);
      return;
    }
    const now = takeSample(log.lastSample, clock.monotonic(), bytes);
    const next = computeNextSample(log.lastSample, now, maxBytes, () => this.#watch(log, live, bytes));
    log.lastSample = now;
    if (next.do === 'rotate') onDue(log);
    else if (next.do === 'watch') {
      // Written before the watch.
      if (live.stat().bytes !== bytes) this.begin(log);
    } else if (next.do === 'sample') {
      log.dueMs = onGrid(now.atMs, next.inMs);
      this.#timer.plan(log.dueMs);
    }
  }

  /** False if it cannot be watched. */
  #watch(log: TrackedLog, live: LiveLog, bytes: number): boolean {
    return log.watch(() => this.#onEvent(log, live, bytes));
  }

  #onEvent(log: TrackedLog, live: LiveLog, bytes: number): void {
    if (!log.isRunning || log.live !== live) return;
    if (live.stat().bytes === bytes) this.#suspect(log);
    else this.begin(log);
  }

  #suspect(log: TrackedLog): void {
    log.dueMs = undefined;
    log.isSuspect = true;
    this.#options.onDue(log);
  }
}

/** A log that is neither sampled nor watched is being rotated. */
function isFollowed({ dueMs, isWatched, live }: TrackedLog): boolean {
  return live !== undefined && (isWatched || dueMs !== undefined);
}

/** Samples that are not urgent fall on common times, so that many logs wake the process together. */
function onGrid(nowMs: number, inMs: number): number {
  const dueMs = nowMs + inMs;
  return inMs < 2 * gridMs ? dueMs : Math.floor(dueMs / gridMs) * gridMs;
}
