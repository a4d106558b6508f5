// In-flight operations per key, for /explain. Invariant: a settled operation is not listed.

export class InFlight<T> {
  readonly #byKey = new Map<string, Set<T>>();

  /** Runs an operation and lists `item` until it settles. */
  async during<R>(key: string, item: T, operation: () => Promise<R>): Promise<R> {
    const mine = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, mine.add(item));
    try {
      return await operation();
    } finally {
      mine.delete(item);
      if (mine.size === 0 && this.#byKey.get(key) === mine) this.#byKey.delete(key);
    }
  }

  activities(key: string): readonly T[] {
    return [...(this.#byKey.get(key) ?? [])];
  }
}
