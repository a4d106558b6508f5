// The files of the history: JSON lines in numbered segments, appended at the end and read backwards. Upstream has no counterpart.
// Invariants: all segments together never exceed `maxBytes`; the oldest is removed first; a line that was cut off by a kill or a full
// disk never joins the next one; appends are serialized; memory is bounded, whatever a file contains.
import { maxLineBytes } from './end-record.ts';

export interface HistoryFiles {
  /** The regular files of the directory; none if it does not exist. */
  list(): Promise<readonly { readonly name: string; readonly size: number }[]>;
  /** Shorter if the file ends before; empty if it does not exist. */
  read(name: string, at: number, length: number): Promise<Uint8Array>;
  /** Creates file and directory if they are missing. All or nothing, unless the process is killed meanwhile. */
  append(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

interface Segment {
  readonly number: number;
  readonly name: string;
  readonly size: number;
}

const segmentCount = 8;
const chunkBytes = 64 * 1024;
const newline = 0x0a;
const segmentName = /^(\d{8})\.jsonl$/;

export class HistorySegments {
  readonly #files: HistoryFiles;
  readonly #maxBytes: number;
  readonly #segmentBytes: number;
  /** The segment to append to; undefined before the first append and after a failure. */
  #current: { segment: Segment; readonly isTorn: boolean } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(files: HistoryFiles, maxBytes: number) {
    this.#files = files;
    this.#maxBytes = maxBytes;
    this.#segmentBytes = Math.floor(maxBytes / segmentCount);
  }

  append(line: string): Promise<void> {
    const done = this.#last.then(() => this.#append(line));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Every line, newest first; torn ones, too. */
  async *newestFirst(): AsyncGenerator<Buffer> {
    const segments = await this.#list();
    for (const { name, size } of segments.toReversed()) yield* this.#backwards(name, size);
  }

  async #append(line: string): Promise<void> {
    const current = (this.#current ??= await this.#open());
    const bytes = Buffer.from(`${current.isTorn ? '\n' : ''}${line}\n`);
    let { segment } = current;
    try {
      if (segment.size > 0 && segment.size + bytes.length > this.#segmentBytes) {
        segment = numbered(segment.number + 1);
        await this.#prune(segment);
      }
      await this.#files.append(segment.name, bytes);
      this.#current = { segment: { ...segment, size: segment.size + bytes.length }, isTorn: false };
    } catch (err) {
      // The next append reads what is really there.
      this.#current = undefined;
      throw err;
    }
  }

  async #open(): Promise<{ segment: Segment; readonly isTorn: boolean }> {
    const segments = await this.#list();
    const newest = segments.at(-1) ?? numbered(1);
    await this.#prune(newest);
    if (newest.size === 0) return { segment: newest, isTorn: false };
    const [last] = await this.#files.read(newest.name, newest.size - 1, 1);
    return { segment: newest, isTorn: last !== newline };
  }

  /** Removes the oldest segments until the current one may grow to its full size. */
  async #prune(current: Segment): Promise<void> {
    const others = (await this.#list()).filter(({ number }) => number !== current.number);
    let total = others.reduce((sum, { size }) => sum + size, 0) + Math.max(this.#segmentBytes, current.size);
    for (const { name, size } of others) {
      if (total <= this.#maxBytes) return;
      await this.#files.remove(name);
      total -= size;
    }
  }

  /** Oldest first. */
  async #list(): Promise<readonly Segment[]> {
    const found = (await this.#files.list()).flatMap(({ name, size }) => {
      const number = Number(segmentName.exec(name)?.[1] ?? 0);
      return number > 0 ? [{ number, name, size }] : [];
    });
    return found.toSorted((a, b) => a.number - b.number);
  }

  async *#backwards(name: string, size: number): AsyncGenerator<Buffer> {
    let rest: Buffer = Buffer.alloc(0);
    for (let end = size; end > 0; ) {
      const start = Math.max(0, end - chunkBytes);
      const bytes = await this.#files.read(name, start, end - start);
      // Removed meanwhile: the oldest records are dropped first.
      if (bytes.length < end - start) return;
      const data = Buffer.concat([bytes, rest]);
      let to = data.length;
      for (let at = data.lastIndexOf(newline, to - 1); at >= 0 && to > 0; at = lastNewline(data, to)) {
        if (at + 1 < to) yield data.subarray(at + 1, to);
        to = at;
      }
      rest = data.subarray(0, to);
      // No line is that long: the file is damaged here.
      if (rest.length > maxLineBytes) rest = Buffer.alloc(0);
      end = start;
    }
    if (rest.length > 0) yield rest;
  }
}

function lastNewline(data: Buffer, before: number): number {
  return before === 0 ? -1 : data.subarray(0, before).lastIndexOf(newline);
}

function numbered(number: number): Segment {
  return { number, name: `${String(number).padStart(8, '0')}.jsonl`, size: 0 };
}
