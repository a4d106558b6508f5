// Calls of the C library through koffi in Node's thread pool, with bounded concurrency. Invariant: koffi is loaded by the
// first caller, not at start-up.
import type * as KoffiModule from 'koffi';

export type Koffi = typeof KoffiModule;

export interface AsyncCall<A extends unknown[]> {
  async(...args: [...A, (err: unknown, result: number) => void]): void;
}

/** More calls would only wait for a thread of the pool, and koffi rejects more than 256. */
const maxConcurrent = 16;

/** A FIFO semaphore. */
class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #held = 0;

  async acquire(): Promise<void> {
    if (this.#held < maxConcurrent) this.#held++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held--;
    else next();
  }
}

/** Runs one call in the pool. Resolves to its result, or to its errno as a negative number. */
type InPool = <A extends unknown[]>(call: AsyncCall<A>, ...args: A) => Promise<number>;

// Shared by all callers, like the pool.
const semaphore = new Semaphore();

export async function loadPool(): Promise<{ readonly koffi: Koffi; readonly inPool: InPool }> {
  const koffi: Koffi = await import('koffi');
  return { koffi, inPool: poolOf(koffi) };
}

function poolOf(koffi: Koffi): InPool {
  return async (call, ...args) => {
    await semaphore.acquire();
    try {
      return await new Promise((resolve, reject) => {
        call.async(...args, (err, result) => {
          if (err !== null && err !== undefined) reject(err);
          else resolve(result < 0 ? -koffi.errno() : result);
        });
      });
    } finally {
      semaphore.release();
    }
  };
}
