// Kernel files that could not be read since the last collection. They become faults of the next answer.
// Invariant: bounded; a few names are enough to investigate.
import { describeError } from '../base/errors.ts';

const mostNamed = 3;

export class UnreadableFiles {
  readonly #byPath = new Map<string, string>();

  record(path: string, err: unknown): void {
    if (this.#byPath.size < mostNamed) this.#byPath.set(path, describeError(err));
  }

  clear(): void {
    this.#byPath.clear();
  }

  faults(): readonly string[] {
    return [...this.#byPath].map(([path, why]) => `${path}: ${why}`);
  }
}
