// Tells those who follow logs that something happened in a log's directory. Upstream: fsnotify in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: however many follow the logs of a directory, it has one watch; nobody is told twice, and while nobody waits there is
// no watch, so that a container that writes without pause costs no event per line.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

interface WatchedDirectory {
  readonly watcher: FSWatcher;
  readonly waiting: Set<() => void>;
}

export class LogWatch {
  readonly #directories = new Map<string, WatchedDirectory>();

  /** Calls back once, when the log or one of its neighbours may have changed, or cannot be watched. */
  next(path: string, onChange: () => void): { close(): void } {
    const directory = dirname(path);
    let at: WatchedDirectory;
    try {
      at = this.#directories.get(directory) ?? this.#watch(directory);
    } catch {
      // No watch to be had, or no directory: who waits has a slow look as well.
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
    const tell = (): void => {
      this.#drop(directory, watched);
      const told = [...watched.waiting];
      watched.waiting.clear();
      for (const each of told) each();
    };
    watcher.on('change', tell);
    watcher.on('error', tell);
    this.#directories.set(directory, watched);
    return watched;
  }

  #drop(directory: string, watched: WatchedDirectory): void {
    watched.watcher.close();
    if (this.#directories.get(directory) === watched) this.#directories.delete(directory);
  }
}

/** On the next turn of the event loop, after timers and what came from outside had theirs. */
export function nextTurn(fn: () => void): void {
  setImmediate(fn);
}
