// One at a time per device. Invariants: in the order of asking; who gives up while waiting does not hold up who comes after.
import { raceAbort } from '../../base/abort/race-abort.ts';

export class DeviceLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Without a key nothing is waited for. */
  async run<T>(key: string | undefined, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (key === undefined) return await work();
    const before = this.#tails.get(key) ?? Promise.resolve();
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = before.then(() => mine);
    this.#tails.set(key, tail);
    try {
      await raceAbort(before, signal);
      return await work();
    } finally {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
