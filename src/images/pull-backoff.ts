// The backoff of failed pulls, per pod and image. Upstream: the backoff of image_manager.go.
// Invariant: 10 s after the first failure, doubling to 300 s; reported as the original failure at first, then as ImagePullBackOff.
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';

const backoffInitialMs = 10_000;
const backoffMaxMs = 300_000;
/** How long a failed pull is reported with its original error, before it is reported as ImagePullBackOff. */
const originalErrorMs = 2_000;

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

  /** The error to throw instead of pulling; undefined if the image may be pulled. */
  rejection(key: string, name: string): KubeletError | undefined {
    const failure = this.#failures.get(key);
    const nowMs = this.#clock.monotonic();
    if (failure === undefined || !this.#backoff.isInBackoffSince(key, failure.atMs, nowMs)) return undefined;
    // A client that polls once a second must see the original error before the backoff replaces it.
    if (isRecentFailure(nowMs - failure.atMs)) return failure.error;
    return new KubeletError(
      'unavailable',
      'ImagePullBackOff',
      `Back-off pulling image "${name}": ${failure.error.reason}: ${failure.error.message}`,
    );
  }

  /** Records a failure and returns the delay until the next attempt. */
  failed(key: string, error: KubeletError): number {
    const nowMs = this.#clock.monotonic();
    const delayMs = this.#backoff.next(key, nowMs, nowMs);
    this.#failures.set(key, { atMs: nowMs, error, count: this.attempt(key) });
    return delayMs;
  }

  /** The number of the next attempt: 1 if none has failed. */
  attempt(key: string): number {
    return (this.#failures.get(key)?.count ?? 0) + 1;
  }

  succeeded(key: string): void {
    this.#backoff.reset(key);
    this.#failures.delete(key);
  }

  /** Delay until rejection() changes; undefined if the image may be pulled now. */
  retryInMs(key: string): number | undefined {
    const failure = this.#failures.get(key);
    if (failure === undefined) return undefined;
    const ageMs = this.#clock.monotonic() - failure.atMs;
    return Math.max(0, (isRecentFailure(ageMs) ? originalErrorMs : this.#backoff.delay(key)) - ageMs);
  }

  /** Drops every key with this prefix. */
  forget(prefix: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(prefix)) this.succeeded(key);
  }
}

function isRecentFailure(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < originalErrorMs;
}
