// What is remembered of failed pulls, per pod and image, and when to try again. Upstream: the back-off of image_manager.go.
// Invariant: 10 s after the first failure, doubling to 300 s; told as the failure at first, then as the back-off.
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';

const backoffInitialMs = 10_000;
const backoffMaxMs = 300_000;
/** How long a failed pull is told as the failure it was, before it is told as a back-off. */
const newsMs = 2_000;

export class PullBackoff {
  readonly #clock: Clock;
  readonly #backoff = new Backoff<string>({ initialMs: backoffInitialMs, maxMs: backoffMaxMs });
  readonly #failures = new Map<
    string,
    { readonly atMs: number; readonly error: KubeletError; readonly count: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What to say instead of pulling; undefined: it may be pulled. */
  refusal(key: string, name: string): KubeletError | undefined {
    const failure = this.#failures.get(key);
    const nowMs = this.#clock.monotonic();
    if (failure === undefined || !this.#backoff.isInBackoffSince(key, failure.atMs, nowMs)) return undefined;
    // Who looks once a second has to see what went wrong before it is wrapped into a back-off.
    if (isNews(nowMs - failure.atMs)) return failure.error;
    return new KubeletError(
      'unavailable',
      'ImagePullBackOff',
      `Back-off pulling image "${name}": ${failure.error.reason}: ${failure.error.message}`,
    );
  }

  /** Records a failure; the delay until the next attempt. */
  failed(key: string, error: KubeletError): number {
    const nowMs = this.#clock.monotonic();
    const delayMs = this.#backoff.next(key, nowMs, nowMs);
    this.#failures.set(key, { atMs: nowMs, error, count: this.attempt(key) });
    return delayMs;
  }

  /** Which attempt the next one is: 1 when none has failed. */
  attempt(key: string): number {
    return (this.#failures.get(key)?.count ?? 0) + 1;
  }

  succeeded(key: string): void {
    this.#backoff.reset(key);
    this.#failures.delete(key);
  }

  /** When to ask again although nothing changes, since the answer will be another; undefined: it may be asked now. */
  retryInMs(key: string): number | undefined {
    const failure = this.#failures.get(key);
    if (failure === undefined) return undefined;
    const ageMs = this.#clock.monotonic() - failure.atMs;
    return Math.max(0, (isNews(ageMs) ? newsMs : this.#backoff.delay(key)) - ageMs);
  }

  /** Forgets every key that begins so. */
  forget(prefix: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(prefix)) this.succeeded(key);
  }
}

function isNews(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < newsMs;
}
