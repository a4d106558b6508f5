// Carries a value that must never be printed: a token, a password, an environment value. Whatever turns it into text,
// be it the log, a template, JSON or an inspection, gets the mask.
const mask = '--- masked ---';

export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself, for the one place that needs it. */
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
