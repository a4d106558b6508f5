// What the manager remembers of one pod while it lives: attempts under way, failures with their back-off.
// Invariants: one attempt per volume at a time; after a failure none until its back-off is over or something it waits for
// has changed; ended, it begins nothing any more and no timer of it fires.
import { setMaxListeners } from 'node:events';
import type { Pod } from '../api/k8s/types.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Aborted, describeError } from '../base/errors.ts';
import type { VolumeSpec } from './plugin.ts';

interface Failure {
  readonly error: unknown;
  readonly count: number;
  /** Wall clock: of the first of these failures. */
  readonly sinceMs: number;
  readonly retryAtMs: number;
}

/** Upstream: goroutinemap/exponentialbackoff. */
const firstRetryMs = 500;
const longestRetryMs = 122_000;

export class PodMounts {
  pod: Pod;
  readonly #life = new AbortController();
  readonly #attempts = new Map<string, Promise<void>>();
  /** Wall clock: when the attempt under way was begun. */
  readonly #begun = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  /** What volumes were found to be, by their names. */
  readonly #specs = new Map<string, VolumeSpec>();
  readonly #clock: Clock;
  readonly #onRetry: () => void;
  #retry: Timer | undefined;

  constructor(pod: Pod, clock: Clock, onRetry: () => void) {
    this.pod = pod;
    this.#clock = clock;
    this.#onRetry = onRetry;
    // One per volume, of which a pod may have many.
    setMaxListeners(0, this.#life.signal);
  }

  get signal(): AbortSignal {
    return this.#life.signal;
  }

  get hasEnded(): boolean {
    return this.#life.signal.aborted;
  }

  /** Joins the attempt under way, or begins one unless the last failure is too young, which it then repeats. */
  attempt(volume: string, work: () => Promise<void>): Promise<void> {
    const running = this.#attempts.get(volume);
    if (running !== undefined) return running;
    const failure = this.#failures.get(volume);
    if (failure !== undefined && this.#clock.monotonic() < failure.retryAtMs) return repeat(failure.error);
    this.#begun.set(volume, this.#clock.now());
    const attempt = work().finally(() => {
      this.#attempts.delete(volume);
      this.#begun.delete(volume);
    });
    this.#attempts.set(volume, attempt);
    return attempt;
  }

  resolved(spec: VolumeSpec): void {
    this.#specs.set(spec.name, spec);
  }

  specs(): readonly VolumeSpec[] {
    return [...this.#specs.values()];
  }

  succeeded(volume: string): void {
    this.#failures.delete(volume);
  }

  /** Resolves how long the next attempt has to wait. */
  failed(volume: string, error: unknown): number {
    const before = this.#failures.get(volume);
    const count = (before?.count ?? 0) + 1;
    const sinceMs = before?.sinceMs ?? this.#clock.now();
    const waitMs = Math.min(firstRetryMs * 2 ** (count - 1), longestRetryMs);
    this.#failures.set(volume, { error, count, sinceMs, retryAtMs: this.#clock.monotonic() + waitMs });
    this.#planRetry();
    return waitMs;
  }

  /** What a failed volume waits for may be there now. True when there was one. */
  retryNow(volume: string): boolean {
    const failure = this.#failures.get(volume);
    if (failure === undefined) return false;
    this.#failures.set(volume, { ...failure, retryAtMs: 0 });
    return true;
  }

  /** What is being mounted, and what could not be. */
  activities(): readonly PodActivity[] {
    const mounting = [...this.#begun].map(([volume, sinceMs]) => ({
      what: `volume ${volume} is being mounted`,
      sinceMs,
    }));
    const failed = [...this.#failures]
      .filter(([volume]) => !this.#begun.has(volume))
      .map(([volume, { count, error, sinceMs }]) => ({
        what: `volume ${volume} could not be mounted, ${count} attempts: ${describeError(error)}`,
        sinceMs,
      }));
    return [...mounting, ...failed];
  }

  /** Aborts attempts under way and resolves when they have ended, or when they had time enough to. */
  async end(patienceMs: number): Promise<void> {
    this.#life.abort(new Aborted('the pod’s volumes are taken down'));
    this.#retry?.cancel();
    const attempts = [...this.#attempts.values()];
    if (attempts.length === 0) return;
    const enough = new AbortController();
    await Promise.race([Promise.allSettled(attempts), sleepQuietly(this.#clock, patienceMs, enough.signal)]);
    enough.abort();
  }

  #planRetry(): void {
    if (this.hasEnded) return;
    this.#retry?.cancel();
    const dueMs = Math.min(...[...this.#failures.values()].map(({ retryAtMs }) => retryAtMs));
    const waitMs = Math.max(0, dueMs - this.#clock.monotonic());
    this.#retry = this.#clock.setTimer(waitMs, () => this.#onRetry());
  }
}

async function repeat(error: unknown): Promise<never> {
  throw error;
}

async function sleepQuietly(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch(() => undefined);
}
