// Calls of the C library through koffi in Node's thread pool, only so many at once. Invariant: koffi is loaded by the first
// who asks, not before.
import type * as KoffiModule from 'koffi';

export type Koffi = typeof KoffiModule;

export interface AsyncCall<A extends unknown[]> {
  async(...args: [...A, (err: unknown, result: number) => void]): void;
}

/** More would only wait for a thread of the pool, and koffi refuses more than 256 at once. */
const mostAtOnce = 16;

/** Lets only so many in at once, in the order they came. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  async enter(): Promise<void> {
    if (this.#inside < mostAtOnce) this.#inside++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside--;
    else next();
  }
}

/** Runs one call in the pool. Gives its result, or the errno it left as a negative number. */
type InPool = <A extends unknown[]>(call: AsyncCall<A>, ...args: A) => Promise<number>;

// One for all: it is the same pool.
const gate = new Gate();

export async function loadPool(): Promise<{ readonly koffi: Koffi; readonly inPool: InPool }> {
  const koffi: Koffi = await import('koffi');
  return { koffi, inPool: poolOf(koffi) };
}

function poolOf(koffi: Koffi): InPool {
  return async (call, ...args) => {
    await gate.enter();
    try {
      return await new Promise((resolve, reject) => {
        call.async(...args, (err, result) => {
          if (err !== null && err !== undefined) reject(err);
          else resolve(result < 0 ? -koffi.errno() : result);
        });
      });
    } finally {
      gate.leave();
    }
  };
}
