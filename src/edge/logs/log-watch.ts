// Notifies followers of logs about changes in a log's directory. Upstream: fsnotify in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: a directory has one watch, however many clients follow its logs; each notification is delivered once, and without
// waiting followers there is no watch, so that a container that writes continuously costs no event per line.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

interface WatchedDirectory {
  readonly watcher: FSWatcher;
  readonly waiting: Set<() => void>;
}

export class LogWatch {
  readonly #directories = new Map<string, WatchedDirectory>();

  /** Calls back once, when a file in the log's directory may have changed or the watch fails. */
  next(path: string, onChange: () => void): { close(): void } {
    const directory = dirname(path);
    let at: WatchedDirectory;
    try {
      at = this.#directories.get(directory) ?? this.#watch(directory);
    } catch {
      // No watch available, or no directory: followers also poll.
      return { close: () => undefined };
    }
    at.waiting.add(onChange);
    return {
      close: () => {
        if (at.waiting.delete(onChange) && at.waiting.size === 0) this.#drop(directory, at);
      },
    };
  }

  #watch(directory: string): WatchedDirectory {
    const watcher = watch(directory, { persistent: false });
    const watched: WatchedDirectory = { watcher, waiting: new Set() };
    const notify = (): void => {
      this.#drop(directory, watched);
      const listeners = [...watched.waiting];
      watched.waiting.clear();
      for (const each of listeners) each();
    };
    watcher.on('change', notify);
    watcher.on('error', notify);
    this.#directories.set(directory, watched);
    return watched;
  }

  #drop(directory: string, watched: WatchedDirectory): void {
    watched.watcher.close();
    if (this.#directories.get(directory) === watched) this.#directories.delete(directory);
  }
}

/** Calls back on the next turn of the event loop, after timers and I/O. */
export function nextTurn(fn: () => void): void {
  setImmediate(fn);
}
