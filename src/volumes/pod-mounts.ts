// What the manager remembers of one pod while it lives: attempts under way, failures with their back-off.
// Invariants: one attempt per volume at a time; after a failure none until its back-off is over or something it waits for
// has changed; ended, it begins nothing any more and no timer of it fires.
import { setMaxListeners } from 'node:events';
import type { Pod } from '../api/k8s.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';

interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly retryAtMs: number;
}

/** Upstream: goroutinemap/exponentialbackoff. */
const firstRetryMs = 500;
const longestRetryMs = 122_000;

export class PodMounts {
  pod: Pod;
  readonly #life = new AbortController();
  readonly #attempts = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, Failure>();
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
    const attempt = work().finally(() => this.#attempts.delete(volume));
    this.#attempts.set(volume, attempt);
    return attempt;
  }

  succeeded(volume: string): void {
    this.#failures.delete(volume);
  }

  /** Resolves how long the next attempt has to wait. */
  failed(volume: string, error: unknown): number {
    const count = (this.#failures.get(volume)?.count ?? 0) + 1;
    const waitMs = Math.min(firstRetryMs * 2 ** (count - 1), longestRetryMs);
    this.#failures.set(volume, { error, count, retryAtMs: this.#clock.monotonic() + waitMs });
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
