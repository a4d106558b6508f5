// Remembers per key how long to wait before the next attempt. Passive: callers bring the time, so a decider can use it.
// Upstream: client-go/util/flowcontrol/backoff.go, whose times and comparisons these are.
// Invariant: the first event gives initialMs, each further one `factor` times the last up to maxMs; a key whose last
// event lies further back than expireMs begins anew.

interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** 2 unless told. */
  readonly factor?: number;
  /** How long a key must stay quiet to be forgiven: 2 × maxMs unless told. The kubelet's crash-loop back-off has 10 min. */
  readonly expireMs?: number;
}

interface Entry {
  readonly delayMs: number;
  readonly updatedMs: number;
}

export class Backoff<K> {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #factor: number;
  readonly #expireMs: number;
  readonly #entries = new Map<K, Entry>();

  constructor(options: BackoffOptions) {
    this.#initialMs = options.initialMs;
    this.#maxMs = options.maxMs;
    this.#factor = options.factor ?? 2;
    this.#expireMs = options.expireMs ?? 2 * options.maxMs;
  }

  /** Records one more event, which happened at eventMs, and returns the delay that now holds. */
  next(key: K, eventMs: number, nowMs: number): number {
    const entry = this.#valid(key, eventMs);
    const delayMs =
      entry === undefined ? this.#initialMs : Math.min(entry.delayMs * this.#factor, this.#maxMs);
    this.#entries.set(key, { delayMs, updatedMs: nowMs });
    return delayMs;
  }

  /** The delay that holds for the key, 0 when there is none. */
  delay(key: K): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Whether less than the delay has passed since the event (a container's exit, say). */
  isInBackoffSince(key: K, eventMs: number, nowMs: number): boolean {
    const entry = this.#valid(key, eventMs);
    return entry !== undefined && nowMs - eventMs < entry.delayMs;
  }

  /** Whether, at eventMs, less than the delay has passed since the last next(): for attempts that leave no time of their own. */
  isInBackoffSinceUpdate(key: K, eventMs: number): boolean {
    const entry = this.#valid(key, eventMs);
    return entry !== undefined && eventMs - entry.updatedMs < entry.delayMs;
  }

  reset(key: K): void {
    this.#entries.delete(key);
  }

  /** Drops the keys that have expired; to be called now and then, so that keys that are gone do not pile up. */
  collect(nowMs: number): void {
    for (const [key, entry] of this.#entries) if (this.#expired(entry, nowMs)) this.#entries.delete(key);
  }

  #valid(key: K, eventMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || this.#expired(entry, eventMs) ? undefined : entry;
  }

  #expired(entry: Entry, atMs: number): boolean {
    return atMs - entry.updatedMs > this.#expireMs;
  }
}
