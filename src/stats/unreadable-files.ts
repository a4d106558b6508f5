// Records kernel files that could not be read during a collection. They become faults of that collection.
// Invariant: bounded; a few paths are enough to investigate.
import { describeError } from '../base/errors.ts';

const maxPaths = 3;

export class UnreadableFiles {
  readonly #byPath = new Map<string, string>();

  record(path: string, err: unknown): void {
    if (this.#byPath.size < maxPaths) this.#byPath.set(path, describeError(err));
  }

  clear(): void {
    this.#byPath.clear();
  }

  faults(): readonly string[] {
    return [...this.#byPath].map(([path, why]) => `${path}: ${why}`);
  }
}
