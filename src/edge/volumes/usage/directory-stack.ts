// The directories from the top of a walk to its current directory. Invariants: the number of open directories is bounded, however
// deep the tree is; the walk returns to a parent by `..`, and only if that is the directory it came from, so that a directory
// moved during the walk ends the walk instead of redirecting it; no link is followed. No paths are built, since they may exceed
// the kernel's limit.
import { closeSync, constants, type Stats } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';
import { rawEntryOf } from '../descriptors.ts';
import { type RawName, toRaw } from '../raw-names.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
export const directoryFlags: number = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Open descriptors per walk. Few trees are deeper, and many walks may run in parallel. */
const maxOpen = 32;

interface Level {
  readonly name: RawName;
  readonly dev: number;
  readonly ino: number;
  /** Undefined while closed, because the walk is far below. */
  fd: number | undefined;
}

interface StackCalls {
  open(path: Buffer, flags: number): Promise<number>;
  fstat(fd: number): Promise<Stats> | Stats;
  /** Throws to reject an opened directory. Called before any access to its file system. */
  admit?(fd: number): void;
}

export class DirectoryStack {
  readonly #levels: Level[];
  readonly #calls: StackCalls;

  /** The caller keeps ownership of the topmost descriptor. */
  constructor(fd: number, { dev, ino }: { readonly dev: number; readonly ino: number }, calls: StackCalls) {
    this.#levels = [{ name: toRaw(''), dev, ino, fd }];
    this.#calls = calls;
  }

  /** Number of directories entered and not left. */
  get depth(): number {
    return this.#levels.length - 1;
  }

  /** Descriptor of the current directory, open until the next enter() or leave(). */
  get fd(): number {
    const { fd } = this.#last();
    if (fd === undefined) throw new Error('the directory is not open');
    return fd;
  }

  /** Enters a subdirectory. ENOTDIR or ELOOP if the entry is not a directory. */
  async enter(name: RawName): Promise<Stats> {
    const { fd, stat } = await this.#openDirectory(rawEntryOf(this.fd, name));
    this.#levels.push({ name, dev: stat.dev, ino: stat.ino, fd });
    const excess = this.#levels.at(-1 - maxOpen);
    // The caller owns the topmost descriptor.
    if (excess?.fd !== undefined && excess !== this.#levels[0]) {
      closeSync(excess.fd);
      excess.fd = undefined;
    }
    return stat;
  }

  /** Returns to the parent directory. Resolves to the name of the directory that was left. */
  async leave(): Promise<RawName> {
    const child = this.#last();
    const parent = this.#levels.at(-2);
    if (parent === undefined) throw new Error('cannot leave the topmost directory');
    parent.fd ??= await this.#reopen(this.fd, parent);
    this.#levels.pop();
    if (child.fd !== undefined) closeSync(child.fd);
    return child.name;
  }

  /** Closes all descriptors that it opened. */
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
    if (last === undefined) throw new Error('the stack is empty');
    return last;
  }
}
