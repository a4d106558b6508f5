// Reports the sockets below a directory: by file events, and by a scan every few seconds, since events can be lost.
// Upstream: pkg/kubelet/pluginmanager/pluginwatcher.
// Invariants: a socket that is removed or moved away disappears from the report; one that is recreated under the same name has
// another incarnation, however quickly; one scan at a time, and none after close().
import { type FSWatcher, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { isMissing } from '../files/pod-files.ts';
import { setDirectoryMode } from '../files/small-files.ts';
import { type ScanLimits, scanSockets, unknownIdentity } from './scan-sockets.ts';

/** Incarnations by path. */
export type PluginSockets = ReadonlyMap<string, string>;

interface WatchSocketsOptions {
  /** Created if missing, also later. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after every scan that found a change, and after the first one. */
  readonly onSockets: (sockets: PluginSockets) => void;
}

/** differs from upstream, which has none: a directory of plugins holds a few sockets. */
const limits: ScanLimits = { depth: 8, directories: 256, entries: 10_000, sockets: 1_024 };
const directoryMode = 0o750;
const rescanMs = 5_000;
const retryMs = 1_000;
/** Coalesces the events of one action. */
const quietMs = 10;
/** A scan takes at most a fifth of the time. */
const restFactor = 4;

export function watchSockets(options: WatchSocketsOptions): { close(): void } {
  const watcher = new SocketWatcher(options);
  watcher.scan();
  return watcher;
}

interface KnownSocket {
  identity: string;
  /** Counts replacements with the same identity. */
  generation: number;
  /** Creations and removals of the name since it was found. The event of its own creation may arrive after the scan. */
  events: number;
}

class SocketWatcher {
  readonly #options: WatchSocketsOptions;
  readonly #known = new Map<string, KnownSocket>();
  readonly #watches = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  readonly #logged = new Set<string>();
  #next: { readonly timer: Timer; readonly dueMs: number } | undefined;
  #notBeforeMs = 0;
  #scanning = false;
  #again = false;
  #hasReported = false;
  #closed = false;

  constructor(options: WatchSocketsOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    this.#next?.timer.cancel();
    for (const directory of this.#watches.keys()) this.#unwatch(directory);
  }

  scan(): void {
    if (this.#closed) return;
    this.#next?.timer.cancel();
    this.#next = undefined;
    if (this.#scanning) {
      this.#again = true;
      return;
    }
    this.#scanning = true;
    void this.#scan();
  }

  async #scan(): Promise<void> {
    const { clock, directory } = this.#options;
    const startMs = clock.monotonic();
    let nextMs = rescanMs;
    try {
      const { fault, ...found } = await scanSockets({
        root: directory,
        limits,
        isKnown: (path) => this.#known.has(path),
        known: () => this.#known.keys(),
        onDirectory: (path, identity) => this.#watch(path, identity),
      });
      if (!this.#closed) this.#adopt(found);
      if (fault !== undefined && isMissing(fault)) nextMs = (await this.#create()) ? 0 : retryMs;
      else if (fault !== undefined) this.#logOnce('Failed to read all plugin sockets', directory, fault);
    } catch (err) {
      nextMs = retryMs;
      this.#logOnce('Failed to read plugin sockets', directory, err);
    }
    this.#scanning = false;
    if (this.#closed) return;
    const nowMs = clock.monotonic();
    this.#notBeforeMs = nowMs + restFactor * (nowMs - startMs);
    if (this.#again) nextMs = quietMs;
    this.#again = false;
    this.#scanIn(nextMs);
  }

  /** The earliest of several wins. */
  #scanIn(ms: number): void {
    const { clock } = this.#options;
    const dueMs = Math.max(clock.monotonic() + ms, this.#notBeforeMs);
    if (this.#closed || (this.#next !== undefined && this.#next.dueMs <= dueMs)) return;
    this.#next?.timer.cancel();
    this.#next = { timer: clock.setTimer(dueMs - clock.monotonic(), () => this.scan()), dueMs };
  }

  async #create(): Promise<boolean> {
    const { directory } = this.#options;
    try {
      const created = await mkdir(directory, { recursive: true, mode: directoryMode });
      if (created !== undefined) await setDirectoryMode(directory, directoryMode);
      return true;
    } catch (err) {
      this.#logOnce('Failed to create the directory of plugin sockets', directory, err);
      return false;
    }
  }

  #adopt(found: {
    readonly sockets: ReadonlyMap<string, string>;
    readonly refused: ReadonlyMap<string, string>;
    readonly directories: ReadonlySet<string>;
  }): void {
    for (const directory of this.#watches.keys())
      if (!found.directories.has(directory)) this.#unwatch(directory);
    for (const [path, why] of found.refused) this.#logOnce('Ignored plugin socket', path, why);
    let isChanged = !this.#hasReported;
    for (const path of this.#known.keys()) if (!found.sockets.has(path)) isChanged = this.#known.delete(path);
    for (const [path, identity] of found.sockets) isChanged = this.#note(path, identity) || isChanged;
    if (!isChanged) return;
    this.#hasReported = true;
    const incarnation = ({ generation, identity }: KnownSocket): string => `${identity}#${generation}`;
    this.#options.onSockets(new Map([...this.#known].map(([path, known]) => [path, incarnation(known)])));
  }

  /** Returns whether the socket is new. */
  #note(path: string, identity: string): boolean {
    const known = this.#known.get(path);
    if (known === undefined) {
      this.#known.set(path, { identity, generation: 0, events: 0 });
      return true;
    }
    if (identity === unknownIdentity) return false;
    // A removal and a creation within one tick of the file system's clock: the inode may be the same one.
    const isReplaced = known.events >= 2;
    if (identity === known.identity && !isReplaced) return false;
    if (identity === known.identity) known.generation += 1;
    known.identity = identity;
    known.events = 0;
    return true;
  }

  #watch(directory: string, identity: string): void {
    const open = this.#watches.get(directory);
    if (this.#closed || open?.identity === identity) return;
    if (open !== undefined) this.#unwatch(directory);
    try {
      const watcher = watch(directory, { persistent: false });
      this.#watches.set(directory, { watcher, identity });
      watcher.on('change', (event, name) => this.#onEvent(directory, event, String(name ?? '')));
      watcher.on('error', (err) => {
        if (this.#watches.get(directory)?.watcher === watcher) this.#unwatch(directory);
        this.#logOnce('Failed to watch plugin sockets', directory, err);
      });
    } catch (err) {
      // For example too many watches. The next scan tries again.
      if (!isMissing(err)) this.#logOnce('Failed to watch plugin sockets', directory, err);
    }
  }

  #unwatch(directory: string): void {
    this.#watches.get(directory)?.watcher.close();
    this.#watches.delete(directory);
  }

  #onEvent(directory: string, event: string, name: string): void {
    // A change of the content, which a socket does not have, or of its mode.
    if (event !== 'rename') return;
    // An event of the directory itself has its name, or none: it was moved or removed.
    if (name === '' || name === basename(directory)) this.#unwatch(directory);
    const known = this.#known.get(join(directory, name));
    if (known !== undefined) known.events += 1;
    if (!name.startsWith('.')) this.#scanIn(quietMs);
  }

  /** Until the process ends, so that a file that stays does not fill the log. */
  #logOnce(message: string, path: string, reason: unknown): void {
    const why = typeof reason === 'string' ? reason : describeError(reason);
    const key = `${message} ${path} ${why}`;
    if (this.#closed || this.#logged.has(key) || this.#logged.size >= mostLogged) return;
    this.#logged.add(key);
    this.#options.log.warn(message, { path, reason: why });
  }
}

const mostLogged = 1_000;
