// The logging interface. Messages are constant, values are structured fields: log.info('Container started', { pod, container }).
// Writers: log-text.ts, log-json.ts. Upstream: k8s.io/klog/v2 (InfoS, ErrorS, V).
// Invariant: logging never throws and never prints the content of a Secret.
import type { Clock } from '../clock.ts';

export type LogFields = Readonly<Record<string, unknown>>;

interface VerboseLogger {
  /** Check before computing expensive fields. */
  readonly enabled: boolean;
  info(message: string, fields?: LogFields): void;
}

export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** Pass the error as the field `err`. */
  error(message: string, fields?: LogFields): void;
  v(level: number): VerboseLogger;
  /** A logger that adds these fields to every entry; `component` names the component that logs. */
  with(fields: LogFields): Logger;
}

/** The level of --v, shared by every logger built with it, so that it can be changed at run time. */
export class Verbosity {
  #level = 0;

  constructor(level: number) {
    this.set(level);
  }

  get level(): number {
    return this.#level;
  }

  set(level: number): void {
    if (!Number.isInteger(level)) throw new RangeError(`log verbosity must be a whole number, got ${level}`);
    this.#level = level;
  }
}

export interface LogWriterOptions {
  /** Receives each entry with its line end. */
  write(line: string): void;
  readonly clock: Clock;
  readonly verbosity: Verbosity;
  readonly pid: number;
}

export const disabledVerboseLogger: VerboseLogger = { enabled: false, info: () => undefined };

export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  v: () => disabledVerboseLogger,
  with: () => silentLogger,
};
