// Which pods wait for which images right now, for who explains a pod. Upstream: the pulling times of podStartupLatencyTracker.

export interface ActivePull {
  readonly image: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Wall clock. */
  readonly sinceMs: number;
}

export class ActivePulls {
  readonly #byUid = new Map<string, Set<ActivePull>>();

  /** Counts as under way until the work settles. */
  async during<T>(uid: string, pull: ActivePull, work: () => Promise<T>): Promise<T> {
    const mine = this.#byUid.get(uid) ?? new Set();
    this.#byUid.set(uid, mine.add(pull));
    try {
      return await work();
    } finally {
      mine.delete(pull);
      if (mine.size === 0 && this.#byUid.get(uid) === mine) this.#byUid.delete(uid);
    }
  }

  of(uid: string): readonly ActivePull[] {
    return [...(this.#byUid.get(uid) ?? [])];
  }
}
