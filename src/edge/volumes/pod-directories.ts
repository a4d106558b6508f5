// Makes the directories of volumes. Invariants: those who need the same directory at once make it once; what is remembered of
// directories only says where to begin: when it is wrong, as after a removal, everything that is missing is made.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createDirectory, setDirectoryMode } from '../files/small-files.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

const parentMode = 0o750;
/** The oldest are forgotten: a pod's volumes are mounted within moments. */
const mostKnown = 512;

export class PodDirectories {
  readonly #podsDir: string;
  /** Directories that were there a moment ago, oldest first. */
  readonly #known = new Set<string>();
  readonly #making = new Map<string, Promise<void>>();

  constructor(podsDir: string) {
    this.#podsDir = podsDir;
  }

  /** Makes a directory, and before it what is missing above. False when something was there already. */
  async make(path: string, mode: number): Promise<boolean> {
    const isOurs = this.has(path);
    const made = await this.within(path, async () => {
      if (isOurs) return await createDirectory(path, mode);
      // Elsewhere it may be a server's, which is asked by the pool alone.
      await mkdir(path, mode);
      await setDirectoryMode(path, mode);
    });
    if (made && isOurs) this.#remember(path);
    return made;
  }

  /** Whether a path lies below the pods' directory, which is on this machine. */
  has(path: string): boolean {
    return path.startsWith(`${this.#podsDir}/`);
  }

  /** Makes what is missing above a path, then what is to be there; false when something was there already. */
  async within(path: string, make: () => Promise<unknown>): Promise<boolean> {
    const parent = dirname(path);
    try {
      await this.#ensure(parent);
      return await isMade(make);
    } catch (err) {
      if (errorCode(err) !== 'ENOENT') throw err;
    }
    // Those on the node are for everybody to pass through, as upstream makes them.
    const mode = this.has(path) ? parentMode : 0o755;
    const made = await mkdir(parent, { recursive: true, mode });
    if (made !== undefined) await setDirectoryMode(parent, mode);
    return await isMade(make);
  }

  /** From the pod's own directory downwards; what lies outside the pods' is taken to be there. */
  async #ensure(path: string): Promise<void> {
    if (!this.has(path) || dirname(path) === this.#podsDir) return;
    if (!this.#known.has(path)) await this.#once(path, () => this.#makeParent(path));
  }

  async #makeParent(path: string): Promise<void> {
    const above = dirname(path);
    await this.#ensure(above);
    const make = (): Promise<boolean> => isMade(() => createDirectory(path, parentMode));
    await make().catch(async (err: unknown) => {
      // The pod's own directory is usually there before its volumes.
      if (errorCode(err) !== 'ENOENT' || dirname(above) !== this.#podsDir) throw err;
      await this.#once(above, async () => void (await mkdir(above, { recursive: true, mode: parentMode })));
      await make();
    });
    this.#remember(path);
  }

  #remember(path: string): void {
    this.#known.add(path);
    const [oldest] = this.#known;
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
  }

  #once(path: string, make: () => Promise<void>): Promise<void> {
    const running = this.#making.get(path);
    if (running !== undefined) return running;
    const making = make().finally(() => this.#making.delete(path));
    this.#making.set(path, making);
    return making;
  }
}

async function isMade(make: () => Promise<unknown>): Promise<boolean> {
  try {
    await make();
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}
