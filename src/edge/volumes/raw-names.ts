// Names of directory entries as raw bytes. A name may hold any bytes except slash and NUL. Decoding it as UTF-8 loses bytes that
// are not valid text, and the entry could no longer be removed, counted or changed.
// Invariant: a raw name or path is a string with one character per byte (latin1), compact and lossless.
import type { Dirent } from 'node:fs';

declare const raw: unique symbol;
export type RawName = string & { readonly [raw]: true };

export interface RawEntry {
  readonly name: RawName;
  isDirectory(): boolean;
}

/** For calls that list a directory. Their types lack this encoding, although their documentation has it. */
export const rawEncoding = 'buffer' as BufferEncoding;

/** From an entry listed with rawEncoding. */
export function rawEntry(entry: Dirent): RawEntry {
  return { name: rawName(entry), isDirectory: () => entry.isDirectory() };
}

export function rawName({ name }: Pick<Dirent, 'name'>): RawName {
  const bytes: unknown = name;
  return (Buffer.isBuffer(bytes) ? bytes.toString('latin1') : toRaw(name)) as RawName;
}

export function toRaw(text: string): RawName {
  return Buffer.from(text).toString('latin1') as RawName;
}

/** For calls of node:fs. */
export function fromRaw(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}
