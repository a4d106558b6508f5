// The lines that the browser keeps: the newest maxLines, and no more than maxBytes. Pure.
// Invariant: lines are in the order of arrival, with consecutive numbers; the oldest are dropped first.

/** A line as the kubelet sends it. */
export interface SentLine {
  /** The index of its container. */
  readonly c: number;
  readonly t: string;
  readonly s?: 'stdout' | 'stderr';
  readonly x: string;
  readonly cut?: boolean;
}

export interface KeptLine extends SentLine {
  /** Counts all lines since the view was opened. */
  readonly number: number;
  /** Not of the log: its text says what is missing here. */
  readonly isNote: boolean;
  /** In pixels; undefined before it was estimated or measured. */
  height?: number | undefined;
}

export const maxLines = 20_000;
const maxBytes = 8 * 1024 * 1024;
/** Of a line besides its text, roughly. */
const lineBytes = 120;
/** Dropped lines are removed from the array together. */
const slack = 2_000;

export class LogRing {
  #lines: KeptLine[] = [];
  /** The index of the oldest line. */
  #from = 0;
  #bytes = 0;
  #next = 0;

  get size(): number {
    return this.#lines.length - this.#from;
  }

  /** The number of the oldest line. */
  get first(): number {
    return this.#next - this.size;
  }

  /** The number of the next line. */
  get next(): number {
    return this.#next;
  }

  /** Another line would drop the oldest one. */
  get isFull(): boolean {
    return this.size >= maxLines || this.#bytes >= maxBytes;
  }

  push(line: SentLine, isNote = false): void {
    this.#lines.push({ ...line, number: this.#next, isNote });
    this.#next += 1;
    this.#bytes += bytesOf(line);
    while (this.size > maxLines || (this.#bytes > maxBytes && this.size > 1)) {
      const dropped = this.#lines[this.#from];
      if (dropped !== undefined) this.#bytes -= bytesOf(dropped);
      this.#from += 1;
    }
    if (this.#from > slack) {
      this.#lines = this.#lines.slice(this.#from);
      this.#from = 0;
    }
  }

  /** Undefined if it was dropped. */
  line(number: number): KeptLine | undefined {
    return number < this.first ? undefined : this.#lines[this.#from + number - this.first];
  }

  /** After another width: all lines are estimated again. */
  forgetHeights(): void {
    for (const line of this.#lines) line.height = undefined;
  }

  /** From the line of this number on. */
  since(number: number): readonly KeptLine[] {
    return this.#lines.slice(this.#from + Math.max(0, number - this.first));
  }
}

function bytesOf({ x }: SentLine): number {
  return 2 * x.length + lineBytes;
}
