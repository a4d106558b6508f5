// What the kernel tells of our own open descriptors. Called in place: it is read from memory, no file is touched.
import { readFileSync, readlinkSync } from 'node:fs';
import { fromRaw, type RawName } from './raw-names.ts';

/** The path by which an entry of an open directory is reached, whatever becomes of the directory's name. */
export function entryOf(directoryFd: number, name: string): string {
  return `/proc/self/fd/${directoryFd}/${name}`;
}

/** The same for a name as it was listed. */
export function rawEntryOf(directoryFd: number, name: RawName): Buffer {
  return fromRaw(`/proc/self/fd/${directoryFd}/${name}`);
}

/** Where what is open really is, no link on the way to it. ` (deleted)` is added when it is nowhere any more. */
export function realPathOf(fd: number): string {
  return readlinkSync(`/proc/self/fd/${fd}`);
}

/** Which mount it was opened through: another one also where a directory is bound from the same file system. */
export function mountIdOf(fd: number): string {
  const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
  if (id === undefined) throw new Error(`the kernel does not tell the mount of descriptor ${fd}`);
  return id;
}
