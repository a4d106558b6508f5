// A span of time as Go's time.Duration writes it: the form of every duration in the configuration and in /configz.
// Exact to the nanosecond (int64), immutable. `ms` is what the rest of the program counts in.

const unitNs: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const maxNs = 2n ** 63n - 1n;
const part = /^([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/;

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
    const negative = text.startsWith('-');
    let rest = negative || text.startsWith('+') ? text.slice(1) : text;
    if (rest === '0') return Duration.zero;
    if (rest === '') return undefined;
    let total = 0n;
    while (rest !== '') {
      const found = part.exec(rest);
      const whole = found?.[1] ?? '';
      const fraction = found?.[2] ?? '';
      const scale = unitNs[found?.[3] ?? ''];
      if (found === null || scale === undefined || (whole === '' && fraction === '')) return undefined;
      total += BigInt(whole === '' ? 0 : whole) * scale;
      // Digits below a nanosecond are cut off, as Go does.
      const digits = fraction.slice(0, 18);
      if (digits !== '') total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
      if (total > maxNs + (negative ? 1n : 0n)) return undefined;
      rest = rest.slice(found[0].length);
    }
    return new Duration(negative ? -total : total);
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
    if (this.ns === 0n) return '0s';
    const sign = this.ns < 0n ? '-' : '';
    const n = this.ns < 0n ? -this.ns : this.ns;
    if (n < 1_000n) return `${sign}${n}ns`;
    if (n < 1_000_000n) return `${sign}${decimal(n, 1_000n)}µs`;
    if (n < 1_000_000_000n) return `${sign}${decimal(n, 1_000_000n)}ms`;
    const minutes = n / 60_000_000_000n;
    const seconds = `${decimal(n % 60_000_000_000n, 1_000_000_000n)}s`;
    if (minutes === 0n) return sign + seconds;
    if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
    return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
  }

  toJSON(): string | number {
    return this.numeric ? Number(this.ns) : this.toString();
  }
}

function decimal(n: bigint, scale: bigint): string {
  const rest = n % scale;
  if (rest === 0n) return String(n / scale);
  const digits = String(rest)
    .padStart(String(scale).length - 1, '0')
    .replace(/0+$/, '');
  return `${n / scale}.${digits}`;
}
