// Reads the small tables that the kernel shows as files, in /proc and /sys. Invariants: a file that is not there (any more) is
// undefined, never an error; one that is there and cannot be read is told of, and undefined too; no descriptor stays open.
// They are read synchronously: the kernel writes them from memory, and a trip through the thread pool costs more time of
// the event loop than the read. Who reads many of them pauses in between.
import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { errorCode } from '../syscalls/syscalls-errors.ts';

const bufferBytes = 64 * 1024;
/** The kernel fills pages with whole records: less than half a page is the end, and asking again is spared. */
const shortBytes = 2048;

/** What the kernel says of something that went away, or that this kernel does not have. */
const absent: ReadonlySet<string> = new Set([
  'ENOENT',
  'ENODEV',
  'ESRCH',
  'ENOTDIR',
  'EOPNOTSUPP',
  'ENOTSUP',
]);

/** Processes of others may be closed to a kubelet that is confined. */
const foreign: ReadonlySet<string> = new Set([...absent, 'EACCES', 'EPERM']);

interface KernelFilesOptions {
  /** Told of what is there and cannot be read. */
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

  /** Names of the directories in a directory. */
  directories(path: string): readonly string[] {
    const entries = this.#try(path, () => readdirSync(path, { withFileTypes: true })) ?? [];
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /** Names in a directory of a process; one that is none of ours to look at has none. */
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

  #try<T>(path: string, look: () => T, expected: ReadonlySet<string> = absent): T | undefined {
    try {
      return look();
    } catch (err) {
      if (!expected.has(errorCode(err) ?? '')) this.#onUnreadable(path, err);
      return undefined;
    }
  }
}

/** The number after `key ` at the beginning of a line. */
export function fieldOf(text: string, key: string): number | undefined {
  const at = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (at === 0 && !text.startsWith(`${key} `)) return undefined;
  const from = at + key.length + 1;
  const end = text.indexOf('\n', from);
  return Number(text.slice(from, end === -1 ? undefined : end));
}
