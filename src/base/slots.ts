// A semaphore for operations that may hang: at most `count` hold a slot at once, waiters are served by priority.
// Invariants: at most `count` holders within their lease; waiters are served by priority (lower first), then by arrival. A
// holder that outlives its lease continues but no longer counts, so a stuck call never blocks the others.
import type { Clock } from './clock.ts';

interface SlotsOptions {
  readonly clock: Clock;
  /** Read whenever a slot is granted, so that it may change; then call countChanged(). */
  readonly count: number;
  /** Infinity: a holder counts until it releases its slot. */
  readonly leaseMs: number;
}

export interface Slot {
  /** Whether it occupies a place: neither released nor past its lease. */
  readonly counts: boolean;
  /** Releases the slot. A second call, or a call after the lease, has no effect. */
  release(): void;
}

interface Waiter {
  readonly priority: number;
  readonly grant: () => void;
}

export class Slots {
  readonly #options: SlotsOptions;
  /** Sorted by priority, then arrival. */
  readonly #waiters: Waiter[] = [];
  #held = 0;

  constructor(options: SlotsOptions) {
    if (!(options.count >= 1)) throw new RangeError(`count must be at least 1, got ${options.count}`);
    this.#options = options;
  }

  /** Rejects with signal.reason if aborted before a slot is granted; a later abort has no effect. */
  acquire(priority: number, signal?: AbortSignal): Promise<Slot> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#waiters.length === 0 && this.#held < this.#options.count) return Promise.resolve(this.#hold());
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        priority,
        grant: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve(this.#hold());
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#insert(waiter);
    });
  }

  /** More waiters may hold a slot now. Fewer take effect as the holders release theirs. */
  countChanged(): void {
    while (this.#held < this.#options.count && this.#waiters.length > 0) this.#waiters.shift()?.grant();
  }

  #insert(waiter: Waiter): void {
    const after = this.#waiters.findLastIndex((each) => each.priority <= waiter.priority);
    this.#waiters.splice(after + 1, 0, waiter);
  }

  #hold(): Slot {
    this.#held++;
    let counts = true;
    const release = (): void => {
      if (!counts) return;
      counts = false;
      lease.cancel();
      this.#held--;
      this.countChanged();
    };
    const lease = this.#options.clock.setTimer(this.#options.leaseMs, release);
    return {
      get counts() {
        return counts;
      },
      release,
    };
  }
}
