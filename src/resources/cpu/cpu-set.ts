// An immutable set of CPU IDs, as a bit set. Pure. Upstream: k8s.io/utils/cpuset.
// Invariant: at most 4096 CPUs with IDs below 8192, whatever a state file contains.
import { KubeletError } from '../../base/errors.ts';
import { goQuote } from '../../base/log/log-value.ts';

const idLimit = 8192;
const mostCpus = 4096;
/** Longest text of a set within the limits: every second CPU, separated by commas. */
const longestText = mostCpus * '8191,'.length;

export class CpuSet {
  static readonly empty: CpuSet = new CpuSet(new Uint32Array(0));
  /** 32 CPUs each; the highest one is not 0, so that equal sets have equal words. */
  readonly #words: Uint32Array;
  readonly size: number;
  #ids: readonly number[] | undefined;

  private constructor(words: Uint32Array) {
    let length = words.length;
    while (length > 0 && words[length - 1] === 0) length -= 1;
    this.#words = length === words.length ? words : words.subarray(0, length);
    let size = 0;
    for (const word of this.#words) size += bitsOf(word);
    this.size = size;
  }

  static of(ids: Iterable<number>): CpuSet {
    const all = [...ids];
    let last = -1;
    for (const id of all) {
      if (!Number.isInteger(id) || id < 0 || id >= idLimit) throw invalid(`CPU ID ${id} is out of range`);
      if (id > last) last = id;
    }
    const words = new Uint32Array((last + 32) >>> 5);
    for (const id of all) words[id >>> 5] = (words[id >>> 5] ?? 0) | (1 << (id & 31));
    const set = new CpuSet(words);
    if (set.size > mostCpus) throw invalid(`more than ${mostCpus} CPUs`);
    return set;
  }

  /** Parses the kernel's format: `0-3,8`. Throws `invalid` on anything else. */
  static parse(text: string): CpuSet {
    if (text === '') return CpuSet.empty;
    if (text.length > longestText) throw invalid(`a list of ${text.length} characters is too long`);
    const ids: number[] = [];
    for (const part of text.split(',')) {
      const dash = part.indexOf('-');
      const first = parseId(dash < 0 ? part : part.slice(0, dash));
      const last = dash < 0 ? first : parseId(part.slice(dash + 1));
      if (first > last) throw invalid(`invalid range ${goQuote(part)} (${first} > ${last})`);
      // Overlapping ranges are legal, so the sum may exceed the number of CPUs, but not without a bound.
      if (last >= idLimit || ids.length + last - first >= 2 * idLimit)
        throw invalid(`CPU ID ${last} is out of range`);
      for (let id = first; id <= last; id += 1) ids.push(id);
    }
    return CpuSet.of(ids);
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  /** Ascending. */
  get ids(): readonly number[] {
    this.#ids ??= idsOf(this.#words);
    return this.#ids;
  }

  has(id: number): boolean {
    return id >= 0 && ((this.#words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }

  union(other: CpuSet): CpuSet {
    if (other.isEmpty || other === this) return this;
    if (this.isEmpty) return other;
    const words = new Uint32Array(Math.max(this.#words.length, other.#words.length));
    for (let at = 0; at < words.length; at += 1) words[at] = (this.#words[at] ?? 0) | (other.#words[at] ?? 0);
    return new CpuSet(words);
  }

  difference(other: CpuSet): CpuSet {
    if (this.isEmpty || other.isEmpty) return this;
    return new CpuSet(this.#words.map((word, at) => word & ~(other.#words[at] ?? 0)));
  }

  intersection(other: CpuSet): CpuSet {
    if (this.isEmpty || other.isEmpty) return CpuSet.empty;
    return new CpuSet(this.#words.map((word, at) => word & (other.#words[at] ?? 0)));
  }

  /** The number of CPUs in both. */
  overlap(other: CpuSet): number {
    let count = 0;
    const length = Math.min(this.#words.length, other.#words.length);
    for (let at = 0; at < length; at += 1) count += bitsOf((this.#words[at] ?? 0) & (other.#words[at] ?? 0));
    return count;
  }

  isSubsetOf(other: CpuSet): boolean {
    return this.#words.every((word, at) => (word & ~(other.#words[at] ?? 0)) === 0);
  }

  equals(other: CpuSet): boolean {
    return this.size === other.size && this.#words.every((word, at) => word === other.#words[at]);
  }

  /** `0-3,8`; two neighbours are a range too, as upstream prints them. */
  toString(): string {
    const ranges: string[] = [];
    const { ids } = this;
    for (let at = 0; at < ids.length; ) {
      let end = at;
      while (ids[end + 1] === (ids[end] ?? 0) + 1) end += 1;
      ranges.push(end === at ? `${ids[at]}` : `${ids[at]}-${ids[end]}`);
      at = end + 1;
    }
    return ranges.join(',');
  }
}

function idsOf(words: Uint32Array): readonly number[] {
  const ids: number[] = [];
  for (const [at, word] of words.entries())
    for (let left = word; left !== 0; left &= left - 1) ids.push(at * 32 + 31 - Math.clz32(left & -left));
  return ids;
}

/** Sums of 2, 4 and 8 neighbouring bits in parallel; the multiplication adds the four bytes. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The texts are those of Go's strconv.Atoi, which upstream reports. */
function parseId(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const shown = goQuote(text.length > 64 ? `${text.slice(0, 63)}…` : text);
  throw invalid(`strconv.Atoi: parsing ${shown}: invalid syntax`);
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidCpuSet', message);
}
