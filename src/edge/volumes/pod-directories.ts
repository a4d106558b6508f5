// Creates the directories of volumes. Invariants: concurrent callers create the same directory once; the cache of existing
// directories is only a hint: if it is outdated, as after a removal, all missing directories are created.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createDirectory, setDirectoryMode } from '../files/small-files.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

const parentMode = 0o750;
/** Oldest first out: the volumes of a pod are mounted within moments. */
const maxKnown = 512;

export class PodDirectories {
  readonly #podsDir: string;
  /** Directories that existed recently, oldest first. */
  readonly #known = new Set<string>();
  readonly #creating = new Map<string, Promise<void>>();

  constructor(podsDir: string) {
    this.#podsDir = podsDir;
  }

  /** Creates a directory and its missing parents. False if the path existed. */
  async make(path: string, mode: number): Promise<boolean> {
    const isOurs = this.has(path);
    const isLocal = isOurs || path.startsWith(`${dirname(this.#podsDir)}/plugins/`);
    const isNew = await this.within(path, async () => {
      if (isLocal) return await createDirectory(path, mode);
      // Other paths may be on a server and are accessed from the thread pool only.
      await mkdir(path, mode);
      await setDirectoryMode(path, mode);
    });
    if (isNew && isOurs) this.#remember(path);
    return isNew;
  }

  /** Whether a path is below the pods' directory, which is on a local file system. */
  has(path: string): boolean {
    return path.startsWith(`${this.#podsDir}/`);
  }

  /** Creates the missing parents of a path, then calls `create`. False if the path existed. */
  async within(path: string, create: () => Promise<unknown>): Promise<boolean> {
    const parent = dirname(path);
    try {
      await this.#ensure(parent);
      return await isCreated(create);
    } catch (err) {
      if (errorCode(err) !== 'ENOENT') throw err;
    }
    // As upstream, directories outside the pods' are accessible to every user.
    const mode = this.has(path) ? parentMode : 0o755;
    const firstCreated = await mkdir(parent, { recursive: true, mode });
    if (firstCreated !== undefined) await setDirectoryMode(parent, mode);
    return await isCreated(create);
  }

  /** Creates the directories below the pod's own. Directories outside the pods' are assumed to exist. */
  async #ensure(path: string): Promise<void> {
    if (!this.has(path) || dirname(path) === this.#podsDir) return;
    if (!this.#known.has(path)) await this.#once(path, () => this.#createParent(path));
  }

  async #createParent(path: string): Promise<void> {
    const above = dirname(path);
    await this.#ensure(above);
    const create = (): Promise<boolean> => isCreated(() => createDirectory(path, parentMode));
    await create().catch(async (err: unknown) => {
      // The pod's own directory usually exists before its volumes.
      if (errorCode(err) !== 'ENOENT' || dirname(above) !== this.#podsDir) throw err;
      await this.#once(above, async () => void (await mkdir(above, { recursive: true, mode: parentMode })));
      await create();
    });
    this.#remember(path);
  }

  #remember(path: string): void {
    this.#known.add(path);
    const [oldest] = this.#known;
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }

  #once(path: string, create: () => Promise<void>): Promise<void> {
    const running = this.#creating.get(path);
    if (running !== undefined) return running;
    const creating = create().finally(() => this.#creating.delete(path));
    this.#creating.set(path, creating);
    return creating;
  }
}

/** False if the path existed. */
async function isCreated(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (err) {
    if (errorCode(err) === 'EEXIST') return false;
    throw err;
  }
}
