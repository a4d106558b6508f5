// A span of time as Go's time.Duration writes it: the form of every duration in the configuration and in /configz.
// Exact to the nanosecond (int64), immutable. `ms` is what the rest of the program counts in.
import { formatDuration, parseDuration } from '../api/k8s/duration.ts';

export class Duration {
  readonly ns: bigint;
  /** Given as a bare number of nanoseconds, and printed as one again. Only the flush frequency of the log may be. */
  readonly numeric: boolean;

  constructor(ns: bigint, numeric = false) {
    this.ns = ns;
    this.numeric = numeric;
  }

  static readonly zero = new Duration(0n);

  /** Reads "1h30m", "1.5s", "-2m", "0". Undefined when the text is no duration or does not fit 64 bits. */
  static parse(text: string): Duration | undefined {
    try {
      return new Duration(parseDuration(text));
    } catch {
      return undefined;
    }
  }

  static ofMs(ms: number): Duration {
    return new Duration(BigInt(Math.round(ms * 1e6)));
  }

  get ms(): number {
    return Number(this.ns) / 1e6;
  }

  get seconds(): number {
    return Number(this.ns) / 1e9;
  }

  get isZero(): boolean {
    return this.ns === 0n;
  }

  /** "2m0s", "100ms", "1h0m0.5s": the canonical form of Go. */
  toString(): string {
    return formatDuration(this.ns);
  }

  toJSON(): string | number {
    return this.numeric ? Number(this.ns) : this.toString();
  }
}
