// Keeps the exponential backoff per key. Passive: callers pass the time, so that deciders can use it.
// Upstream: client-go/util/flowcontrol/backoff.go, with the same times and comparisons.
// Invariant: the first event sets initialMs, each further one `factor` times the last, up to maxMs; a key whose last event is
// older than expireMs starts over.

/** Read for each event, so that they may change. */
interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Default: 2. */
  readonly factor?: number;
  /** A key without an event for this long starts over. Default: 2 × maxMs. The crash-loop backoff has 10 min. */
  readonly expireMs?: number;
}

interface Entry {
  readonly delayMs: number;
  readonly updatedMs: number;
}

export class Backoff<K> {
  readonly #options: BackoffOptions;
  readonly #entries = new Map<K, Entry>();

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Records an event at eventMs and returns the new delay. */
  next(key: K, eventMs: number, nowMs: number): number {
    const { factor = 2, initialMs, maxMs } = this.#options;
    const entry = this.#valid(key, eventMs);
    const delayMs = entry === undefined ? initialMs : Math.min(entry.delayMs * factor, maxMs);
    this.#entries.set(key, { delayMs, updatedMs: nowMs });
    return delayMs;
  }

  /** The current delay of the key, 0 without one. */
  delay(key: K): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : this.#delayOf(entry);
  }

  /** Whether less than the delay has passed since the event, such as a container's exit. */
  isInBackoffSince(key: K, eventMs: number, nowMs: number): boolean {
    const entry = this.#valid(key, eventMs);
    return entry !== undefined && nowMs - eventMs < this.#delayOf(entry);
  }

  /** Whether, at eventMs, less than the delay has passed since the last next(). For attempts without a timestamp of their own. */
  isInBackoffSinceUpdate(key: K, eventMs: number): boolean {
    const entry = this.#valid(key, eventMs);
    return entry !== undefined && eventMs - entry.updatedMs < this.#delayOf(entry);
  }

  reset(key: K): void {
    this.#entries.delete(key);
  }

  /** Drops expired keys. Call it periodically, so that entries of removed keys do not accumulate. */
  collect(nowMs: number): void {
    for (const [key, entry] of this.#entries) if (this.#expired(entry, nowMs)) this.#entries.delete(key);
  }

  /** A maximum that was lowered since shortens the delay. */
  #delayOf({ delayMs }: Entry): number {
    const { initialMs, maxMs } = this.#options;
    return Math.min(delayMs, Math.max(initialMs, maxMs));
  }

  #valid(key: K, eventMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || this.#expired(entry, eventMs) ? undefined : entry;
  }

  #expired(entry: Entry, atMs: number): boolean {
    const { expireMs, maxMs } = this.#options;
    return atMs - entry.updatedMs > (expireMs ?? 2 * maxMs);
  }
}
