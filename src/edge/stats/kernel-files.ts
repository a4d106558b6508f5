// Reads small kernel files in /proc and /sys. Invariants: a missing file is undefined, never an error; an unreadable one is
// undefined and reported; no descriptor stays open.
// The reads are synchronous: the kernel generates the files from memory, and a trip through the thread pool costs more time of
// the event loop than the read. A caller that reads many of them pauses in between.
import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { errorCode } from '../syscalls/syscalls-errors.ts';

const bufferBytes = 64 * 1024;
/** The kernel fills pages with whole records: less than half a page is the end of the file, and another read is not needed. */
const shortBytes = 2048;

/** The error codes for a file that disappeared or that this kernel does not have. */
const absent: ReadonlySet<string> = new Set([
  'ENOENT',
  'ENODEV',
  'ESRCH',
  'ENOTDIR',
  'EOPNOTSUPP',
  'ENOTSUP',
]);

/** A confined kubelet may not be allowed to inspect other processes. */
const foreign: ReadonlySet<string> = new Set([...absent, 'EACCES', 'EPERM']);

interface KernelFilesOptions {
  /** Called for a file that exists but cannot be read. */
  readonly onUnreadable?: (path: string, err: unknown) => void;
}

export class KernelFiles {
  readonly #onUnreadable: NonNullable<KernelFilesOptions['onUnreadable']>;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);

  constructor({ onUnreadable = () => undefined }: KernelFilesOptions = {}) {
    this.#onUnreadable = onUnreadable;
  }

  text(path: string): string | undefined {
    return this.#try(path, () => {
      const fd = openSync(path, 'r');
      try {
        return this.#read(fd);
      } finally {
        closeSync(fd);
      }
    });
  }

  /** A whole number; `max` is Infinity. */
  number(path: string): number | undefined {
    const text = this.text(path)?.trim();
    if (text === undefined || text === '') return undefined;
    return text === 'max' ? Number.POSITIVE_INFINITY : Number(text);
  }

  /** Names of the sub-directories. */
  directories(path: string): readonly string[] {
    const entries = this.#try(path, () => readdirSync(path, { withFileTypes: true })) ?? [];
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /** Names in a directory of a process; none if the kubelet may not inspect the process. */
  names(path: string): readonly string[] {
    return this.#try(path, () => readdirSync(path), foreign) ?? [];
  }

  link(path: string): string | undefined {
    return this.#try(path, () => readlinkSync(path), foreign);
  }

  modifiedAtMs(path: string): number | undefined {
    return this.#try(path, () => statSync(path).mtimeMs);
  }

  #read(fd: number): string {
    let text = '';
    for (;;) {
      const count = readSync(fd, this.#buffer, 0, bufferBytes, null);
      text += this.#buffer.toString('latin1', 0, count);
      if (count < shortBytes) return text;
    }
  }

  #try<T>(path: string, read: () => T, expected: ReadonlySet<string> = absent): T | undefined {
    try {
      return read();
    } catch (err) {
      if (!expected.has(errorCode(err) ?? '')) this.#onUnreadable(path, err);
      return undefined;
    }
  }
}

/** The number after `key ` at the start of a line. */
export function fieldOf(text: string, key: string): number | undefined {
  const at = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (at === 0 && !text.startsWith(`${key} `)) return undefined;
  const from = at + key.length + 1;
  const end = text.indexOf('\n', from);
  return Number(text.slice(from, end === -1 ? undefined : end));
}
