// The directory of FlexVolume drivers: inspects one driver, and reports changes by file events and a scan every few seconds, since
// events can be lost. Upstream: the prober in pkg/volume/flexvolume/probe.go, which also watches all directories below a driver.
// Invariants: one scan at a time, and none after close(); directories and entries are bounded; events of other files than the
// executables, such as a driver's log, start no scan.
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, opendir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { isMissing } from '../files/pod-files.ts';
import { setDirectoryMode } from '../files/small-files.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { executableName, type InspectedDriver, inspectDriver } from './inspect-driver.ts';

interface DriverDirectoryOptions {
  /** volumePluginDir. Created if missing, also later. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

type OnDrivers = (stamps: ReadonlyMap<string, string>) => void;

/** differs from upstream, which has none: a node has a few drivers. */
const mostDrivers = 256;
const mostEntries = 10_000;
const directoryMode = 0o755;
const rescanMs = 10_000;
/** Coalesces the events of one installation. */
const quietMs = 20;
/** A scan takes at most a fifth of the time. */
const restFactor = 4;
const mostLogged = 1_000;

export class DriverDirectory {
  readonly #options: DriverDirectoryOptions;
  readonly #root: string;

  constructor(options: DriverDirectoryOptions) {
    this.#options = options;
    this.#root = resolve(options.directory);
  }

  inspect(directory: string): Promise<InspectedDriver> {
    return inspectDriver(this.#root, directory);
  }

  /** Calls onDrivers after the first scan, and after every one that found a change. */
  watch(onDrivers: OnDrivers): { close(): void } {
    const watcher = new DriverWatcher(this.#options, this.#root, onDrivers);
    watcher.scan();
    return watcher;
  }
}

class DriverWatcher {
  readonly #options: DriverDirectoryOptions;
  readonly #root: string;
  readonly #onDrivers: OnDrivers;
  readonly #watches = new Map<string, FSWatcher>();
  readonly #logged = new Set<string>();
  #stamps: ReadonlyMap<string, string> | undefined;
  #next: { readonly timer: Timer; readonly dueMs: number } | undefined;
  #notBeforeMs = 0;
  #scanning = false;
  #again = false;
  #closed = false;

  constructor(options: DriverDirectoryOptions, root: string, onDrivers: OnDrivers) {
    this.#options = options;
    this.#root = root;
    this.#onDrivers = onDrivers;
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
    this.#again = this.#scanning;
    if (this.#scanning) return;
    this.#scanning = true;
    void this.#scan();
  }

  async #scan(): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.monotonic();
    try {
      const stamps = await this.#readStamps();
      if (!this.#closed) this.#report(stamps);
    } catch (err) {
      this.#logOnce('Failed to read the directory of FlexVolume drivers', this.#root, describeError(err));
      if (this.#stamps === undefined && !this.#closed) this.#report(new Map());
    }
    this.#scanning = false;
    const nowMs = clock.monotonic();
    this.#notBeforeMs = nowMs + restFactor * (nowMs - startMs);
    this.#scanIn(this.#again ? quietMs : rescanMs);
    this.#again = false;
  }

  async #readStamps(): Promise<ReadonlyMap<string, string>> {
    // Before the directory is read, so that no change is missed.
    this.#watch(this.#root);
    const directories = await this.#directories();
    const stamps = new Map<string, string>();
    for (const directory of directories) {
      this.#watch(join(this.#root, directory));
      const file = await inspectDriver(this.#root, directory);
      if (file.is === 'executable') stamps.set(directory, file.identity);
      if (file.is === 'refused') stamps.set(directory, file.why);
    }
    const kept = new Set([this.#root, ...directories.map((each) => join(this.#root, each))]);
    for (const directory of this.#watches.keys()) if (!kept.has(directory)) this.#unwatch(directory);
    return stamps;
  }

  async #directories(): Promise<readonly string[]> {
    const names: string[] = [];
    let entries = 0;
    try {
      for await (const entry of await opendir(this.#root)) {
        if (++entries > mostEntries || names.length >= mostDrivers) {
          const why = `it has more than ${mostDrivers} drivers or ${mostEntries} entries`;
          this.#logOnce('Ignored FlexVolume drivers', this.#root, why);
          break;
        }
        // Also an entry of unknown type, which the inspection finds out.
        if (!entry.name.startsWith('.') && !entry.isFile()) names.push(entry.name);
      }
    } catch (err) {
      if (!isMissing(err)) throw err;
      this.#unwatch(this.#root);
      await this.#create();
    }
    return names;
  }

  /** Installers mount the directory from the host. */
  async #create(): Promise<void> {
    const created = await mkdir(this.#root, { recursive: true, mode: directoryMode });
    if (created === undefined) return;
    await setDirectoryMode(this.#root, directoryMode);
    this.#options.log.info('Created the directory of FlexVolume drivers', { path: this.#root });
    this.#watch(this.#root);
  }

  #report(stamps: ReadonlyMap<string, string>): void {
    const before = this.#stamps;
    const isSame =
      before?.size === stamps.size &&
      [...stamps].every(([directory, stamp]) => before.get(directory) === stamp);
    this.#stamps = stamps;
    if (!isSame) this.#onDrivers(stamps);
  }

  /** The earliest of several wins. */
  #scanIn(ms: number): void {
    const { clock } = this.#options;
    const dueMs = Math.max(clock.monotonic() + ms, this.#notBeforeMs);
    if (this.#closed || (this.#next !== undefined && this.#next.dueMs <= dueMs)) return;
    this.#next?.timer.cancel();
    this.#next = { timer: clock.setTimer(dueMs - clock.monotonic(), () => this.scan()), dueMs };
  }

  #watch(directory: string): void {
    if (this.#closed || this.#watches.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false });
      this.#watches.set(directory, watcher);
      watcher.on('change', (event, name) => this.#onEvent(directory, event, String(name ?? '')));
      watcher.on('error', (err) => {
        if (this.#watches.get(directory) === watcher) this.#unwatch(directory);
        this.#logOnce('Failed to watch FlexVolume drivers', directory, describeError(err));
      });
    } catch (err) {
      // For example too many watches. The next scan tries again, and reports a path that is no directory.
      if (!isMissing(err) && errorCode(err) !== 'ENOTDIR')
        this.#logOnce('Failed to watch FlexVolume drivers', directory, describeError(err));
    }
  }

  #unwatch(directory: string): void {
    this.#watches.get(directory)?.close();
    this.#watches.delete(directory);
  }

  #onEvent(directory: string, event: string, name: string): void {
    const own = directory.slice(directory.lastIndexOf('/') + 1);
    // The watched directory itself was moved or removed; another one may have its name by now.
    if (event === 'rename' && (name === '' || name === own)) this.#unwatch(directory);
    const isRoot = directory === this.#root;
    if (isRoot && event === 'rename') this.#unwatch(join(directory, name));
    const isExecutable = name === '' || name === own || name === executableName(own);
    if (isRoot ? !name.startsWith('.') : isExecutable) this.#scanIn(quietMs);
  }

  /** Until the process ends, so that a fault that stays does not fill the log. */
  #logOnce(message: string, path: string, reason: string): void {
    const key = `${message} ${path} ${reason}`;
    if (this.#closed || this.#logged.has(key) || this.#logged.size >= mostLogged) return;
    this.#logged.add(key);
    this.#options.log.warn(message, { path, reason });
  }
}
