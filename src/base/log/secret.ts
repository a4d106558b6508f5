// Wraps a value that must never be printed: a token, a password, an environment value. Log, template string, JSON and
// util.inspect show the mask instead.
const mask = '--- masked ---';

export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value. Call it only where it is used. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return mask;
  }
}
