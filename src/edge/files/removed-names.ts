// Collects the names whose files were removed from a directory, even if a new file has replaced each by now.
// Upstream: fsnotify's Remove and Rename events in pkg/kubelet/config/file_linux.go.
// Node's own watcher reports creation, removal and rename alike as `rename`, so a file that was removed and written again looks
// like two replacements. With the kernel's inotify events, a deletion or a move out of the directory is a removal; a rename
// over the name is not, and neither is a move within the directory, which editors use for backups.
// Invariant: in doubt no removal is reported. Lost events, and those of a directory that the path no longer leads to, do not
// count.
import { stat } from 'node:fs/promises';
import { directoryIdentity } from '../manifests/watch-dir-targets.ts';
import { inotifyMasks, type NameEvents } from '../syscalls/inotify.ts';
import { loadSyscalls, type Syscalls } from '../syscalls/syscalls.ts';

interface NamesRequest {
  /** The real directory. */
  readonly directory: string;
  readonly identity: string;
  /** The path that leads to it. */
  readonly path: string;
  /** Maps a name to the caller's path; undefined to ignore it. */
  readonly pathOf: (name: string) => string | undefined;
}

interface Collected {
  readonly request: NamesRequest;
  events: NameEvents | undefined;
  readonly names: Set<string>;
  /** Names moved away, by cookie. The move may turn out to be within the directory. */
  readonly moved: Map<number, string>;
  /** The directory itself was moved away: later events in it are ignored. */
  isMovedAway: boolean;
}

const { delete: deleted, movedFrom, movedTo, moveSelf, onlyDirectory } = inotifyMasks;

export class RemovedNames {
  #syscalls: Syscalls | undefined;
  #collected: Collected[] = [];

  constructor(onError: (err: unknown) => void) {
    void this.#load(onError);
  }

  /** Collects until closed. Names collected before the close are still returned by take(). */
  collect(request: NamesRequest): { close(): void } {
    const collected: Collected = {
      request,
      events: undefined,
      names: new Set(),
      moved: new Map(),
      isMovedAway: false,
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

  /** The paths removed since the last call. */
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
      // The directory was removed, or there are too many watches. Then removals are found only by listing the directory.
    }
  }

  #drop(collected: Collected): void {
    this.#collected = this.#collected.filter((each) => each !== collected);
  }
}

function drain(collected: Collected): void {
  const { moved, names } = collected;
  for (const { cookie, mask, name } of collected.events?.read() ?? []) {
    if ((mask & moveSelf) !== 0) collected.isMovedAway = true;
    if (collected.isMovedAway || name === '') continue;
    if ((mask & deleted) !== 0) names.add(name);
    else if ((mask & movedFrom) !== 0) moved.set(cookie, name);
    else if ((mask & movedTo) !== 0) moved.delete(cookie);
  }
}

async function identityAt(path: string): Promise<string | undefined> {
  return await stat(path, { bigint: true }).then(directoryIdentity, () => undefined);
}
