// Decodes the header blocks of one connection (HPACK, RFC 7541).
// Invariants: the dynamic table never exceeds its limit; a block yields a bounded number of bytes, however often it refers to
// the table. Every block of the connection has to be decoded, in order, and none after one that is invalid.
import { huffmanDecode } from './huffman.ts';
import { type HeaderField, staticTable } from './static-table.ts';

/** HTTP/2's default, which the server never changes. */
const tableBytes = 4096;
const entryOverhead = 32;
/** A longer integer is no length or index. */
const maxIntegerBytes = 5;

/** The block violates HPACK. Fatal for the connection. */
export class InvalidBlock extends Error {}

interface Cursor {
  readonly block: Buffer;
  at: number;
}

export class HpackDecoder {
  readonly #limitBytes: number;
  /** The newest entry first. */
  #entries: HeaderField[] = [];
  #size = 0;
  #maxSize = tableBytes;

  /** `limitBytes`: of all names and values of a block. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Undefined if the fields exceed the limit. Throws an InvalidBlock. */
  decode(block: Buffer): readonly HeaderField[] | undefined {
    const cursor: Cursor = { block, at: 0 };
    const fields: HeaderField[] = [];
    let bytes = 0;
    while (cursor.at < block.length) {
      const field = this.#next(cursor);
      if (field === undefined) continue;
      bytes += field[0].length + field[1].length + entryOverhead;
      if (bytes <= this.#limitBytes) fields.push(field);
    }
    return bytes <= this.#limitBytes ? fields : undefined;
  }

  /** One field; undefined for a change of the table's size. */
  #next(cursor: Cursor): HeaderField | undefined {
    const first = cursor.block[cursor.at] ?? 0;
    if (first >= 0x80) return this.#entry(integer(cursor, 7));
    if (first >= 0x40) return this.#add(this.#literal(cursor, 6));
    if (first < 0x20) return this.#literal(cursor, 4);
    const size = integer(cursor, 5);
    if (size > tableBytes) throw new InvalidBlock('the table is larger than allowed');
    this.#maxSize = size;
    this.#evict(0);
    return undefined;
  }

  #literal(cursor: Cursor, prefixBits: number): HeaderField {
    const index = integer(cursor, prefixBits);
    const name = index === 0 ? this.#text(cursor) : this.#entry(index)[0];
    return [name, this.#text(cursor)];
  }

  #entry(index: number): HeaderField {
    const entry =
      index > staticTable.length ? this.#entries[index - staticTable.length - 1] : staticTable[index - 1];
    if (entry === undefined) throw new InvalidBlock('no such entry');
    return entry;
  }

  #add(field: HeaderField): HeaderField {
    const size = sizeOf(field);
    this.#evict(size);
    if (size <= this.#maxSize) {
      this.#entries.unshift(field);
      this.#size += size;
    }
    return field;
  }

  /** Makes room for this many bytes. */
  #evict(room: number): void {
    while (this.#size > 0 && this.#size + room > this.#maxSize) {
      const oldest = this.#entries.pop();
      this.#size -= oldest === undefined ? this.#size : sizeOf(oldest);
    }
  }

  #text(cursor: Cursor): string {
    const isHuffman = (cursor.block[cursor.at] ?? 0) >= 0x80;
    const length = integer(cursor, 7);
    const end = cursor.at + length;
    if (end > cursor.block.length) throw new InvalidBlock('the block ends inside a text');
    const bytes = cursor.block.subarray(cursor.at, end);
    cursor.at = end;
    if (!isHuffman) return bytes.toString('latin1');
    const text = huffmanDecode(bytes);
    if (text === undefined) throw new InvalidBlock('invalid Huffman code');
    return text;
  }
}

function sizeOf([name, value]: HeaderField): number {
  return name.length + value.length + entryOverhead;
}

function integer(cursor: Cursor, prefixBits: number): number {
  const { block } = cursor;
  const mask = 2 ** prefixBits - 1;
  if (cursor.at >= block.length) throw new InvalidBlock('the block ends inside a field');
  let value = (block[cursor.at++] ?? 0) & mask;
  if (value < mask) return value;
  for (let count = 0; count < maxIntegerBytes; count++) {
    const byte = block[cursor.at++];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * count);
    if (byte < 0x80) return value;
  }
  throw new InvalidBlock('invalid integer');
}
