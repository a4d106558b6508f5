// Facts about open descriptors, read synchronously from /proc/self, which is in memory.
import { readFileSync, readlinkSync } from 'node:fs';
import { fromRaw, type RawName } from './raw-names.ts';

/** Path of an entry through the open descriptor of its directory, valid even if the directory is renamed. */
export function entryOf(directoryFd: number, name: string): string {
  return `/proc/self/fd/${directoryFd}/${name}`;
}

/** The same for a raw name. */
export function rawEntryOf(directoryFd: number, name: RawName): Buffer {
  return fromRaw(`/proc/self/fd/${directoryFd}/${name}`);
}

/** Path of an open file without links. The kernel appends ` (deleted)` if it was removed. */
export function realPathOf(fd: number): string {
  return readlinkSync(`/proc/self/fd/${fd}`);
}

/** ID of the mount it was opened through. It also differs for a bind mount of the same file system. */
export function mountIdOf(fd: number): string {
  const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
  if (id === undefined) throw new Error(`/proc/self/fdinfo/${fd} has no mnt_id`);
  return id;
}
