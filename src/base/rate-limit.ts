// A token bucket: qps on average, up to burst at once. Upstream: client-go/util/flowcontrol/throttle.go.
// Invariants: never more than burst + qps × t tokens in the first t (one more in a later interval of that length); callers are
// served first come, first served, and tryTake() does not overtake waiting callers.
import type { Clock, Timer } from './clock.ts';

/** Read for each token, so that both may change. */
interface TokenBucketOptions {
  readonly clock: Clock;
  /** 0 or less: unlimited. */
  readonly qps: number;
  readonly burst: number;
}

/** A whole token in floating-point arithmetic. */
const oneToken = 1 - 1e-9;

export class TokenBucket {
  readonly #options: TokenBucketOptions;
  /** In order of arrival. */
  readonly #waiters = new Set<() => void>();
  #tokens: number;
  #filledMs: number;
  #timer: Timer | undefined;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = this.#burst;
    this.#filledMs = options.clock.monotonic();
  }

  /** Takes a token if one is available. */
  tryTake(): boolean {
    if (this.#unlimited) return true;
    if (this.#waiters.size > 0) return false;
    return this.#takeToken();
  }

  /** Resolves when it has a token. Rejects with signal.reason if aborted earlier, without spending a token. */
  take(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.tryTake()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(grant);
        if (this.#waiters.size === 0) this.#stopTimer();
        reject(signal?.reason);
      };
      const grant = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(grant);
      this.#serve();
    });
  }

  get #unlimited(): boolean {
    return !(this.#options.qps > 0);
  }

  // differs from upstream: a burst below one counts as one; upstream would never grant a token.
  get #burst(): number {
    return Math.max(1, this.#options.burst);
  }

  #takeToken(): boolean {
    if (this.#unlimited) return true;
    const { clock, qps } = this.#options;
    const nowMs = clock.monotonic();
    // Timers fire late by a fraction of a token. Discarding that fraction each time would lower the rate for waiting callers.
    const full = this.#waiters.size > 0 ? this.#burst + 1 : this.#burst;
    this.#tokens = Math.min(full, this.#tokens + ((nowMs - this.#filledMs) * qps) / 1000);
    this.#filledMs = nowMs;
    if (this.#tokens < oneToken) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Grants tokens to waiting callers and sets a timer for the next token while any remain. */
  #serve(): void {
    for (const grant of this.#waiters) {
      if (!this.#takeToken()) break;
      this.#waiters.delete(grant);
      grant();
    }
    if (this.#waiters.size === 0 || this.#timer !== undefined) return;
    const { clock, qps } = this.#options;
    const waitMs = Math.max(0, Math.ceil(((1 - this.#tokens) * 1000) / qps));
    this.#timer = clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#serve();
    });
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
