// Knows from which names of a directory files were removed, even if each has another file by the time somebody looks.
// Upstream: fsnotify's Remove and Rename events in pkg/kubelet/config/file_linux.go.
// Node's own watcher reports every kind of coming and going as `rename`, so that a file that was removed and written again
// looks like two replacements. The kernel's events tell: a deletion or a move out of the directory is a removal; a rename over
// the name is none, and neither is a move within the directory, which is how editors keep a backup.
// Invariant: when in doubt nothing was removed. Events of a directory that the path no longer leads to, or that were lost, do
// not count.
import { stat } from 'node:fs/promises';
import { directoryIdentity } from '../manifests/watch-dir-targets.ts';
import { inotifyMasks, loadSyscalls, type NameEvents, type Syscalls } from '../syscalls/syscalls.ts';

interface NamesRequest {
  /** The real directory. */
  readonly directory: string;
  readonly identity: string;
  /** The path that leads to it. */
  readonly path: string;
  /** What a name is called by the caller; undefined for one that does not matter. */
  readonly pathOf: (name: string) => string | undefined;
}

interface Collected {
  readonly request: NamesRequest;
  events: NameEvents | undefined;
  readonly names: Set<string>;
  /** By cookie: moved away, and perhaps to another name of the directory. */
  readonly moved: Map<number, string>;
  /** The directory itself was moved: what happens in it now happens elsewhere. */
  isElsewhere: boolean;
}

const { delete: deleted, movedFrom, movedTo, moveSelf, onlyDirectory } = inotifyMasks;

export class RemovedNames {
  #syscalls: Syscalls | undefined;
  #collected: Collected[] = [];

  constructor(onError: (err: unknown) => void) {
    void this.#load(onError);
  }

  /** Collects from now on, until closed. What was collected before it was closed is kept for take(). */
  collect(request: NamesRequest): { close(): void } {
    const collected: Collected = {
      request,
      events: undefined,
      names: new Set(),
      moved: new Map(),
      isElsewhere: false,
    };
    this.#collected.push(collected);
    this.#open(collected);
    let isOpen = true;
    return {
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        drain(collected);
        collected.events?.close();
        collected.events = undefined;
        if (collected.names.size + collected.moved.size === 0) this.#drop(collected);
      },
    };
  }

  /** The paths of what was removed since the last call. */
  async take(): Promise<readonly string[]> {
    const paths: string[] = [];
    for (const collected of this.#collected) {
      drain(collected);
      const names = [...collected.names, ...collected.moved.values()];
      collected.names.clear();
      collected.moved.clear();
      if (collected.events === undefined && this.#syscalls !== undefined) this.#drop(collected);
      const { identity, path, pathOf } = collected.request;
      const removed = names.flatMap((name) => pathOf(name) ?? []);
      if (removed.length > 0 && (await identityAt(path)) === identity) paths.push(...removed);
    }
    return paths;
  }

  async #load(onError: (err: unknown) => void): Promise<void> {
    try {
      this.#syscalls = await loadSyscalls();
    } catch (err) {
      onError(err);
    }
    for (const each of this.#collected) this.#open(each);
  }

  #open(collected: Collected): void {
    if (this.#syscalls === undefined || collected.events !== undefined) return;
    const mask = deleted | movedFrom | movedTo | moveSelf | onlyDirectory;
    try {
      collected.events = this.#syscalls.collectNames(collected.request.directory, mask);
    } catch {
      // It has gone again, or there are too many watches: then removals are told by listing the directory only.
    }
  }

  #drop(collected: Collected): void {
    this.#collected = this.#collected.filter((each) => each !== collected);
  }
}

function drain(collected: Collected): void {
  const { moved, names } = collected;
  for (const { cookie, mask, name } of collected.events?.read() ?? []) {
    if ((mask & moveSelf) !== 0) collected.isElsewhere = true;
    if (collected.isElsewhere || name === '') continue;
    if ((mask & deleted) !== 0) names.add(name);
    else if ((mask & movedFrom) !== 0) moved.set(cookie, name);
    else if ((mask & movedTo) !== 0) moved.delete(cookie);
  }
}

async function identityAt(path: string): Promise<string | undefined> {
  return await stat(path, { bigint: true }).then(directoryIdentity, () => undefined);
}
