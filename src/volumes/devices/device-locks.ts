// Serialises operations per device. Invariants: operations run in the order of their calls; a caller that gives up waiting does
// not block those behind it.
import { raceAbort } from '../../base/abort/race-abort.ts';

export class DeviceLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Whether an operation on the device is in flight. */
  isHeld(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Runs at once if there is no key. */
  async run<T>(key: string | undefined, signal: AbortSignal, operation: () => Promise<T>): Promise<T> {
    if (key === undefined) return await operation();
    const before = this.#tails.get(key) ?? Promise.resolve();
    let release = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = before.then(() => done);
    this.#tails.set(key, tail);
    try {
      await raceAbort(before, signal);
      return await operation();
    } finally {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
