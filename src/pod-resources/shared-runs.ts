// Lets callers that wait at the same time share one run of some work and its result. Invariants: at most one run at a time; a
// run that a caller gets began after its call, so that no result is older than its request.

export class SharedRuns<T> {
  readonly #work: () => Promise<T>;
  #current: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  run(): Promise<T> {
    if (this.#next !== undefined) return this.#next;
    const before = this.#current ?? Promise.resolve();
    const next = before
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        this.#current = next;
        this.#next = undefined;
        return this.#work();
      })
      .finally(() => {
        if (this.#current === next) this.#current = undefined;
      });
    this.#next = next;
    return next;
  }
}
