// What the rotation of containers' logs needs of the machine: current files and their sizes, directories, and notifications of the
// next write. Invariants: a current file is an open regular file below the directory of logs, whose size is read without waiting
// for a disk; all logs share one inotify instance, and a container that writes costs one event at most until it is watched again.
import { closeSync, constants, fstatSync } from 'node:fs';
import { basename } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { openFile } from '../files/small-files.ts';
import { inotifyMasks, type Watches } from '../syscalls/inotify.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { entryOf } from '../volumes/descriptors.ts';
import { LogFolder, openLogDirectory } from './log-folder.ts';

const openPath = 0o10000000;
/** A deletion changes the number of names, which is an attribute. */
const writeMask =
  (inotifyMasks.modify | inotifyMasks.attributes | inotifyMasks.moveSelf | inotifyMasks.once) >>> 0;

export class RotationFiles {
  readonly #podLogsDir: string;
  readonly #waiting = new Map<number, () => void>();
  #watches: Watches | undefined;

  constructor(podLogsDir: string) {
    this.#podLogsDir = podLogsDir;
  }

  async start(signal: AbortSignal): Promise<void> {
    try {
      const syscalls = await loadSyscalls();
      if (signal.aborted) return;
      const watches = syscalls.openWatches(({ watch }) => this.#notify(watch));
      this.#watches = watches;
      signal.addEventListener('abort', () => watches.close(), { once: true });
    } catch {
      // No inotify instance left, or no native calls: every log is sampled instead.
    }
  }

  async openLive(path: string) {
    return await unlessMissing(async () => {
      const directory = await openLogDirectory(path, this.#podLogsDir);
      try {
        const entry = entryOf(directory, basename(path));
        return this.#live(await openFile(entry, openPath | constants.O_NOFOLLOW), path);
      } finally {
        closeSync(directory);
      }
    });
  }

  async openDirectory(path: string): Promise<LogFolder | undefined> {
    return await unlessMissing(
      async () => new LogFolder(await openLogDirectory(path, this.#podLogsDir), path),
    );
  }

  #live(fd: number, path: string) {
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      closeSync(fd);
      throw new KubeletError('forbidden', 'NotAFile', `${path} is not a regular file`);
    }
    return {
      identity: `${stats.dev}:${stats.ino}`,
      stat: () => {
        const { nlink, size } = fstatSync(fd);
        return { bytes: size, hasName: nlink > 0 };
      },
      // Through the descriptor: the open file, whatever its name.
      whenWritten: (onWrite: () => void) => this.#watch(`/proc/self/fd/${fd}`, onWrite),
      close: () => closeSync(fd),
    };
  }

  #watch(path: string, onWrite: () => void): { close(): void } | undefined {
    const watches = this.#watches;
    if (watches === undefined) return undefined;
    let watch: number;
    try {
      watch = watches.add(path, writeMask);
    } catch {
      // The limit of watches is reached.
      return undefined;
    }
    this.#waiting.set(watch, onWrite);
    return {
      close: () => {
        if (this.#waiting.delete(watch)) watches.remove(watch);
      },
    };
  }

  #notify(watch: number): void {
    // The kernel dropped events: of any watch.
    const woken = watch < 0 ? [...this.#waiting.keys()] : [watch];
    for (const each of woken) {
      const onWrite = this.#waiting.get(each);
      if (onWrite === undefined) continue;
      this.#waiting.delete(each);
      if (watch < 0) this.#watches?.remove(each);
      onWrite();
    }
  }
}

async function unlessMissing<T>(open: () => Promise<T>): Promise<T | undefined> {
  try {
    return await open();
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return undefined;
    throw err;
  }
}
