// Says what is wrong with a manifest once, and again only when it is something else: a rescan every few seconds must not
// flood the log. Holds one line per subject, and forgets the subject when it is well again.
import type { LogFields, Logger } from '../base/log/log.ts';

export class FaultLog {
  readonly #log: Logger;
  readonly #said = new Map<string, string>();

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
    if (this.#said.get(key) === reason) return;
    this.#said.set(key, reason);
    this.#log[level](message, { path: subject, reason, ...more });
  }

  /** Nothing is wrong with it any more, in this respect. */
  clear(message: string, subject: string): void {
    if (this.#said.delete(`${message}\n${subject}`))
      this.#log.info('Manifest problem is gone', { path: subject, problem: message });
  }

  /** The subject is gone; what was said of it does not matter any more. */
  forgetExcept(subjects: ReadonlySet<string>): void {
    for (const key of this.#said.keys()) {
      const subject = key.slice(key.indexOf('\n') + 1);
      if (!subjects.has(subject)) this.#said.delete(key);
    }
  }
}
