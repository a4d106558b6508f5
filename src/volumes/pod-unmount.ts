// The unmount of one pod's volumes, for /explain: since when it has been running, and why it failed last.
// Invariant: a deletion that does not end always names what it waits for.
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { describeError } from '../base/errors.ts';

export class PodUnmount {
  /** Wall clock, of the first attempt. */
  readonly #sinceMs: number;
  #failures = 0;
  #failure: string | undefined;

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  async attempt<T>(run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      this.#failure = undefined;
      return result;
    } catch (err) {
      this.#failures += 1;
      this.#failure = describeError(err);
      throw err;
    }
  }

  activity(): PodActivity {
    const what =
      this.#failure === undefined
        ? 'volumes are being unmounted'
        : `volumes could not be unmounted, ${this.#failures} attempts: ${this.#failure}`;
    return { what, sinceMs: this.#sinceMs };
  }
}
