// The directories from the top of a walk down to where it is. Invariants: however deep the tree is, only so many of them are open
// at once; the way back up is `..` of the directory below, and taken only when it leads to the very directory that was entered
// before, so that a directory which is moved in the middle of a walk ends the walk instead of leading it elsewhere; no link is
// followed. The path to a directory may be longer than the kernel takes: none is ever built.
import { closeSync, constants, type Stats } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';
import { rawEntryOf } from '../descriptors.ts';
import { type RawName, toRaw } from '../raw-names.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
export const directoryFlags: number = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Descriptors of one walk. Few trees are deeper, and many walks may go on at once. */
const mostOpen = 32;

interface Level {
  readonly name: RawName;
  readonly dev: number;
  readonly ino: number;
  /** Undefined while the walk is so far below that it was closed. */
  fd: number | undefined;
}

interface StackCalls {
  open(path: Buffer, flags: number): Promise<number>;
  fstat(fd: number): Promise<Stats> | Stats;
  /** Throws when a directory that was opened is not to be entered. Called before anything is asked of its file system. */
  admit?(fd: number): void;
}

export class DirectoryStack {
  readonly #levels: Level[];
  readonly #calls: StackCalls;

  /** The descriptor of the topmost directory stays the caller's. */
  constructor(fd: number, { dev, ino }: { readonly dev: number; readonly ino: number }, calls: StackCalls) {
    this.#levels = [{ name: toRaw(''), dev, ino, fd }];
    this.#calls = calls;
  }

  /** How many directories were entered and not left. */
  get depth(): number {
    return this.#levels.length - 1;
  }

  /** The directory where the walk is; open until it goes on. */
  get fd(): number {
    const { fd } = this.#last();
    if (fd === undefined) throw new Error('the directory is not open');
    return fd;
  }

  /** Opens an entry of the directory and makes it the one where the walk is. ENOTDIR or ELOOP when it is none. */
  async enter(name: RawName): Promise<Stats> {
    const { fd, stat } = await this.#openDirectory(rawEntryOf(this.fd, name));
    this.#levels.push({ name, dev: stat.dev, ino: stat.ino, fd });
    const tooMany = this.#levels.at(-1 - mostOpen);
    // The topmost is the caller's.
    if (tooMany?.fd !== undefined && tooMany !== this.#levels[0]) {
      closeSync(tooMany.fd);
      tooMany.fd = undefined;
    }
    return stat;
  }

  /** Goes back to the directory above. The name by which the one that was left was entered. */
  async leave(): Promise<RawName> {
    const child = this.#last();
    const parent = this.#levels.at(-2);
    if (parent === undefined) throw new Error('the topmost directory is not left');
    parent.fd ??= await this.#reopen(this.fd, parent);
    this.#levels.pop();
    if (child.fd !== undefined) closeSync(child.fd);
    return child.name;
  }

  /** Closes all that it opened. */
  close(): void {
    for (const level of this.#levels.slice(1)) {
      if (level.fd !== undefined) closeSync(level.fd);
      level.fd = undefined;
    }
  }

  async #reopen(childFd: number, parent: Level): Promise<number> {
    const { fd, stat } = await this.#openDirectory(rawEntryOf(childFd, toRaw('..')));
    if (stat.dev === parent.dev && stat.ino === parent.ino) return fd;
    closeSync(fd);
    throw new KubeletError('conflict', 'Moved', 'a directory was moved while its tree was walked');
  }

  async #openDirectory(path: Buffer): Promise<{ readonly fd: number; readonly stat: Stats }> {
    const fd = await this.#calls.open(path, directoryFlags);
    try {
      this.#calls.admit?.(fd);
      return { fd, stat: await this.#calls.fstat(fd) };
    } catch (err) {
      closeSync(fd);
      throw err;
    }
  }

  #last(): Level {
    const last = this.#levels.at(-1);
    if (last === undefined) throw new Error('a walk has at least its topmost directory');
    return last;
  }
}
