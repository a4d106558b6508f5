// A duration in the format of Go's time.Duration, as the configuration and /configz use it.
// Exact to the nanosecond (int64), immutable. The rest of the program uses `ms`.
import { formatDuration, parseDuration } from '../api/k8s/duration.ts';

export class Duration {
  readonly ns: bigint;
  /** Parsed from a bare number of nanoseconds, and printed as one. Only logging.flushFrequency allows that. */
  readonly numeric: boolean;

  constructor(ns: bigint, numeric = false) {
    this.ns = ns;
    this.numeric = numeric;
  }

  static readonly zero = new Duration(0n);

  /** Parses "1h30m", "1.5s", "-2m", "0". Undefined when the text is not a duration or does not fit into 64 bits. */
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

  /** "2m0s", "100ms", "1h0m0.5s": Go's canonical format. */
  toString(): string {
    return formatDuration(this.ns);
  }

  toJSON(): string | number {
    return this.numeric ? Number(this.ns) : this.toString();
  }
}
