// The lines of a view, all or those that match, and where each of them is on a tall page. Made for one frame. Pure.
import type { KeptLine, LogRing } from './log-ring.ts';

export class VisibleLines {
  readonly #ring: Pick<LogRing, 'first' | 'next' | 'line'>;
  /** Undefined: all lines. */
  readonly #numbers: readonly number[] | undefined;
  readonly #rowPx: number;
  /** Where each line begins, and the end of the last; undefined if all lines have the same height. */
  readonly #tops: Float64Array | undefined;

  constructor(
    ring: Pick<LogRing, 'first' | 'next' | 'line'>,
    numbers: readonly number[] | undefined,
    rowPx: number,
    /** For lines without a height; undefined if all have the same. */
    estimate?: (line: KeptLine) => number,
  ) {
    this.#ring = ring;
    const dropped = numbers === undefined ? 0 : lowerBound(numbers, ring.first);
    this.#numbers = dropped === 0 ? numbers : numbers?.slice(dropped);
    this.#rowPx = rowPx;
    if (estimate !== undefined) this.#tops = this.#computeTops(estimate);
  }

  get count(): number {
    return this.#numbers?.length ?? this.#ring.next - this.#ring.first;
  }

  get height(): number {
    return this.topOf(this.count);
  }

  at(index: number): KeptLine | undefined {
    return this.#ring.line(
      this.#numbers === undefined ? this.#ring.first + index : (this.#numbers[index] ?? -1),
    );
  }

  /** The first line with this number or a later one. */
  indexOf(number: number): number {
    const index = this.#numbers === undefined ? number - this.#ring.first : lowerBound(this.#numbers, number);
    return Math.max(0, Math.min(this.count - 1, index));
  }

  topOf(index: number): number {
    return this.#tops === undefined ? index * this.#rowPx : (this.#tops[index] ?? 0);
  }

  /** The line at this height. */
  indexAt(top: number): number {
    const index =
      this.#tops === undefined
        ? Math.floor(top / this.#rowPx)
        : lowerBound(this.#tops, Math.max(0, top) + 0.5) - 1;
    return Math.max(0, Math.min(this.count - 1, index));
  }

  #computeTops(estimate: (line: KeptLine) => number): Float64Array {
    const tops = new Float64Array(this.count + 1);
    for (let index = 0; index < this.count; index++) {
      const line = this.at(index);
      if (line !== undefined) line.height ??= estimate(line);
      tops[index + 1] = (tops[index] ?? 0) + (line?.height ?? 0);
    }
    return tops;
  }
}

/** The index of the first entry that is not below the value. */
function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
