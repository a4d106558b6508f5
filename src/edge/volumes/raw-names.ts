// Names of directory entries as they are on the disk. A name is any bytes but a slash and a zero byte: decoded as UTF-8, one that is
// no text leads nowhere, and what carries it could be neither removed nor counted nor given to a group.
// Invariant: a raw name or path has one character for each byte, so that it is as small as a string and nothing of it is lost.
import type { Dirent } from 'node:fs';

declare const raw: unique symbol;
export type RawName = string & { readonly [raw]: true };

export interface RawEntry {
  readonly name: RawName;
  isDirectory(): boolean;
}

/** For calls that list a directory. Their types know of no such encoding, which the calls themselves document. */
export const rawEncoding = 'buffer' as BufferEncoding;

/** Of an entry that was listed with the encoding above. */
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

/** As calls to the file system take it. */
export function fromRaw(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}
