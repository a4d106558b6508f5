// Logs a problem of a manifest once, and again only when it changes, so that periodic rescans do not flood the log. Keeps one
// entry per problem and subject until the problem is resolved or the subject is gone.
import type { LogFields, Logger } from '../base/log/log.ts';

export class FaultLog {
  readonly #log: Logger;
  readonly #logged = new Map<string, string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  report(
    level: 'warn' | 'error',
    message: string,
    subject: string,
    reason: string,
    more: LogFields = {},
  ): void {
    const key = `${message}\n${subject}`;
    if (this.#logged.get(key) === reason) return;
    this.#logged.set(key, reason);
    this.#log[level](message, { path: subject, reason, ...more });
  }

  /** The problem is resolved. */
  clear(message: string, subject: string): void {
    if (this.#logged.delete(`${message}\n${subject}`))
      this.#log.info('Manifest problem was resolved', { path: subject, problem: message });
  }

  /** Drops the entries of all other subjects, which are gone. */
  forgetExcept(subjects: ReadonlySet<string>): void {
    for (const key of this.#logged.keys()) {
      const subject = key.slice(key.indexOf('\n') + 1);
      if (!subjects.has(subject)) this.#logged.delete(key);
    }
  }
}
