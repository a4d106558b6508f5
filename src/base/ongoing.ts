// What goes on for somebody right now, for who explains it. Invariant: nothing stays that has settled.

export class Ongoing<T> {
  readonly #byKey = new Map<string, Set<T>>();

  /** Counts as under way until the work settles. */
  async during<R>(key: string, item: T, work: () => Promise<R>): Promise<R> {
    const mine = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, mine.add(item));
    try {
      return await work();
    } finally {
      mine.delete(item);
      if (mine.size === 0 && this.#byKey.get(key) === mine) this.#byKey.delete(key);
    }
  }

  of(key: string): readonly T[] {
    return [...(this.#byKey.get(key) ?? [])];
  }
}
