// Bounded parallelism for work that may hang: so many may hold a slot at once, the most urgent waiting first.
// Invariants: at most `count` holders whose lease has not run out; waiting ones are served by priority (lower first),
// then by arrival. A holder that outlives its lease goes on, but no longer counts: one stuck call never blocks the rest.
import type { Clock } from './clock.ts';

interface SlotsOptions {
  readonly clock: Clock;
  readonly count: number;
  /** Infinity: a holder counts until it releases. */
  readonly leaseMs: number;
}

export interface Slot {
  /** Whether it keeps others waiting: neither given back nor outlived. */
  readonly counts: boolean;
  /** Gives the slot back. Again, or after the lease: without effect. */
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

  /** Rejects with signal.reason when the signal is aborted before there is a slot; afterwards the signal has no meaning here. */
  acquire(priority: number, signal?: AbortSignal): Promise<Slot> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#held < this.#options.count) return Promise.resolve(this.#hold());
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

  #insert(waiter: Waiter): void {
    const after = this.#waiters.findLastIndex((each) => each.priority <= waiter.priority);
    this.#waiters.splice(after + 1, 0, waiter);
  }

  #hold(): Slot {
    this.#held++;
    let counts = true;
    const giveBack = (): void => {
      if (!counts) return;
      counts = false;
      lease.cancel();
      this.#held--;
      if (this.#held < this.#options.count) this.#waiters.shift()?.grant();
    };
    const lease = this.#options.clock.setTimer(this.#options.leaseMs, giveBack);
    return {
      get counts() {
        return counts;
      },
      release: giveBack,
    };
  }
}
