// A container's log in the CRI format, one entry per line of output: time, stream, F (full) or P (partial), text.
// Invariant: output without a newline is buffered; what is still buffered at the end is written as partial.

type LogStream = 'stdout' | 'stderr';

/** RFC 3339 with nanoseconds, without trailing zeros. */
function logTime(ns: bigint): string {
  const seconds = new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = (ns % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

export class ContainerLog {
  readonly lines: string[] = [];
  readonly #write: (line: string) => void;
  readonly #waiting = new Map<LogStream, string>();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  append(stream: LogStream, text: string, ns: bigint): void {
    const lines = ((this.#waiting.get(stream) ?? '') + text).split('\n');
    this.#waiting.set(stream, lines.pop() ?? '');
    for (const line of lines) this.#add(`${logTime(ns)} ${stream} F ${line}`);
  }

  end(ns: bigint): void {
    for (const [stream, text] of this.#waiting) {
      if (text !== '') this.#add(`${logTime(ns)} ${stream} P ${text}`);
    }
    this.#waiting.clear();
  }

  #add(line: string): void {
    this.lines.push(line);
    this.#write(line);
  }
}
