// Reports that a directory, a file or a target of their links may have changed. Events carry no data: the listener reads again.
// Upstream: fsnotify in pkg/kubelet/config/file_linux.go.
// Invariants: every change after the watch is in place is reported; whenever the watched directories change (replaced,
// relinked, created), a change is reported once the new watch is in place; nothing is reported after close().
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { RemovedNames } from '../files/removed-names.ts';
import { findWatchTargets, type WatchTarget } from './watch-dir-targets.ts';

interface WatchPathOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly onChange: () => void;
  /** The path cannot be watched; will be retried. */
  readonly onError: (err: unknown) => void;
  /** Collects the removed files of the path. */
  readonly removed?: Pick<RemovedNames, 'collect'>;
}

/** A file that is moved in is complete; the delay only coalesces the events of one action. */
const renameQuietMs = 2;
/** A file that is written in place arrives in pieces. */
const changeQuietMs = 15;
/** Longest delay of a report for a directory that changes continuously. */
const longestQuietMs = 100;
/** Some replacements, such as a mount on the directory, cause no event. */
const recheckMs = 10_000;
const retryMs = 1000;
const confirmMs = 10;
/** Links are followed again after a burst of changes; the listener itself reads through the links meanwhile. */
const relinkMs = 200;
/** Each uses an inotify watch, of which a user has a few thousand. */
const maxWatches = 256;

export function watchPath(options: WatchPathOptions): { close(): void } {
  const watcher = new PathWatcher(options);
  watcher.refresh();
  return watcher;
}

interface OpenWatch {
  readonly watcher: FSWatcher;
  readonly removed: { close(): void } | undefined;
  readonly identity: string;
  names: ReadonlySet<string> | undefined;
}

class PathWatcher {
  readonly #options: WatchPathOptions;
  readonly #open = new Map<string, OpenWatch>();
  #closed = false;
  #refreshing = false;
  #refreshAgain = false;
  /** A watched directory was removed; its replacement is not watched yet. */
  #lost = false;
  #recheck: Timer | undefined;
  #relink: Timer | undefined;
  #quiet: { timer: Timer; readonly sinceMs: number; relinked: boolean } | undefined;

  constructor(options: WatchPathOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    this.#recheck?.cancel();
    this.#relink?.cancel();
    this.#quiet?.timer.cancel();
    for (const directory of this.#open.keys()) this.#unwatch(directory);
  }

  /** Updates the watches. One update at a time; a call during an update runs it once more. */
  refresh(): void {
    this.#relink?.cancel();
    this.#relink = undefined;
    if (this.#refreshing) {
      this.#refreshAgain = true;
      return;
    }
    this.#refreshing = true;
    void this.#refresh();
  }

  async #refresh(): Promise<void> {
    let nextMs = recheckMs;
    this.#lost = false;
    try {
      const targets = await findWatchTargets(this.#options.path);
      const failures: unknown[] = [];
      if (!this.#closed && this.#adopt(targets.slice(0, maxWatches), failures)) {
        // Changes since the targets were found were not watched yet: report, and search for targets once more.
        nextMs = confirmMs;
        this.#options.onChange();
      }
      if (failures.length > 0) throw failures[0];
      if (targets.length > maxWatches) throw tooMany(targets.length);
    } catch (err) {
      nextMs = retryMs;
      if (!this.#closed) this.#options.onError(err);
    }
    this.#refreshing = false;
    if (this.#closed) return;
    if (this.#refreshAgain) {
      this.#refreshAgain = false;
      this.refresh();
      return;
    }
    this.#recheckIn(nextMs);
  }

  #recheckIn(ms: number): void {
    this.#recheck?.cancel();
    this.#recheck = this.#options.clock.setTimer(ms, () => this.refresh());
  }

  /**
   * Returns whether anything is watched that was not before, even if other targets could not be watched: a directory that is
   * removed between the search and its watch causes no event.
   */
  #adopt(targets: readonly WatchTarget[], failures: unknown[]): boolean {
    const wanted = new Map(targets.map((target) => [target.directory, target]));
    for (const [directory, open] of this.#open) {
      if (wanted.get(directory)?.identity !== open.identity) this.#unwatch(directory);
    }
    let added = false;
    for (const target of targets) {
      const open = this.#open.get(target.directory);
      if (open !== undefined) {
        added ||= !coversNames(open.names, target.names);
        open.names = target.names;
        continue;
      }
      try {
        this.#watch(target);
        added = true;
      } catch (err) {
        failures.push(err);
      }
    }
    return added;
  }

  #watch(target: WatchTarget): void {
    const { directory, identity, names } = target;
    const watcher = watch(directory, { persistent: true });
    this.#open.set(directory, { watcher, identity, names, removed: this.#collectRemoved(target) });
    watcher.on('change', (event, name) => this.#onEvent(directory, event, String(name ?? '')));
    watcher.on('error', (err) => {
      watcher.close();
      if (this.#open.get(directory)?.watcher === watcher) this.#unwatch(directory);
      if (this.#closed) return;
      this.#options.onError(err);
      this.#recheckIn(retryMs);
    });
  }

  #unwatch(directory: string): void {
    const open = this.#open.get(directory);
    this.#open.delete(directory);
    open?.watcher.close();
    open?.removed?.close();
  }

  #collectRemoved({ directory, identity, isHome, names }: WatchTarget): { close(): void } | undefined {
    const { path, removed } = this.#options;
    if (!isHome || removed === undefined) return undefined;
    const isDirectory = names === undefined;
    return removed.collect({
      directory,
      identity,
      path: isDirectory ? path : dirname(path),
      pathOf: (name) => (isDirectory ? join(path, name) : name === basename(path) ? path : undefined),
    });
  }

  #onEvent(directory: string, event: string, name: string): void {
    const open = this.#open.get(directory);
    if (this.#closed || open === undefined) return;
    // An event of the directory itself has its name, or none.
    const itself = name === '' || name === basename(directory);
    if (open.names !== undefined && !open.names.has(name) && !itself) return;
    if (itself && event === 'rename') {
      // Moved or removed. A new directory may reuse the inode, but this watch does not see its events.
      this.#unwatch(directory);
      this.#lost = true;
    }
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    const sinceMs = this.#quiet?.sinceMs ?? nowMs;
    const relinked = event === 'rename' || this.#quiet?.relinked === true;
    const waitMs = event === 'rename' ? renameQuietMs : changeQuietMs;
    const leftMs = Math.max(0, Math.min(waitMs, sinceMs + longestQuietMs - nowMs));
    this.#quiet?.timer.cancel();
    this.#quiet = { timer: clock.setTimer(leftMs, () => this.#report()), sinceMs, relinked };
  }

  #report(): void {
    const relinked = this.#quiet?.relinked === true;
    this.#quiet = undefined;
    this.#options.onChange();
    // Only added or removed names can change the targets of links. A lost watch is replaced at once.
    if (!relinked) return;
    if (this.#lost) this.refresh();
    else this.#relink ??= this.#options.clock.setTimer(relinkMs, () => this.refresh());
  }
}

function coversNames(watched: WatchTarget['names'], wanted: WatchTarget['names']): boolean {
  if (watched === undefined || wanted === undefined) return watched === undefined;
  return [...wanted].every((name) => watched.has(name));
}

function tooMany(count: number): KubeletError {
  return new KubeletError(
    'unavailable',
    'TooManyWatches',
    `its links lead to ${count} directories, only ${maxWatches} of them are watched`,
  );
}
