// Selects lines of a log by a text and marks them with their container. Pure.
// Invariants: a text is searched literally, so that the work is linear in the log; lines are passed on whole, up to 256 KiB.

const newline = 0x0a;
/** Longer lines are judged by their beginning, and passed on in pieces. */
const maxHeldBytes = 256 * 1024;

interface LogLinesOptions {
  /** Only lines with this text. */
  readonly grep?: string | undefined;
  /** Printed before every line. */
  readonly prefix?: string;
}

export class LogLines {
  readonly #needle: Buffer | undefined;
  readonly #prefix: Buffer;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #overlong: 'no' | 'pass' | 'drop' = 'no';

  constructor({ grep, prefix = '' }: LogLinesOptions) {
    this.#needle = grep === undefined ? undefined : Buffer.from(grep);
    this.#prefix = Buffer.from(prefix);
  }

  push(chunk: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      this.#part(chunk.subarray(from, end + 1), true, pieces);
      from = end + 1;
    }
    if (from < chunk.length) this.#part(chunk.subarray(from), false, pieces);
    return Buffer.concat(pieces);
  }

  /** The incomplete last line. */
  end(): Uint8Array {
    const pieces: Uint8Array[] = [];
    if (this.#heldBytes > 0) this.#part(new Uint8Array(0), true, pieces);
    return Buffer.concat(pieces);
  }

  #part(bytes: Uint8Array, endsLine: boolean, pieces: Uint8Array[]): void {
    if (this.#overlong !== 'no') {
      if (this.#overlong === 'pass') pieces.push(bytes);
      if (endsLine) this.#overlong = 'no';
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (!endsLine && this.#heldBytes <= maxHeldBytes) return;
    const line = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    const isWanted = this.#needle === undefined || line.includes(this.#needle);
    if (isWanted) pieces.push(this.#prefix, line);
    if (!endsLine) this.#overlong = isWanted ? 'pass' : 'drop';
  }
}
