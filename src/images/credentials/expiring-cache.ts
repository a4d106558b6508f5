// A cache with a TTL per entry. Invariant: expired values are never returned, and are purged within fifteen minutes of use.
import type { Clock } from '../../base/clock.ts';

const purgeMs = 15 * 60_000;

export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>();
  #purgedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#purgedMs = clock.monotonic();
  }

  get(key: string): V | undefined {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#purgedMs > purgeMs) this.#purge(nowMs);
    const entry = this.#entries.get(key);
    return entry !== undefined && nowMs <= entry.untilMs ? entry.value : undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs });
  }

  get size(): number {
    return this.#entries.size;
  }

  #purge(nowMs: number): void {
    this.#purgedMs = nowMs;
    for (const [key, { untilMs }] of this.#entries) if (nowMs > untilMs) this.#entries.delete(key);
  }
}
