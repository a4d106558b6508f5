// Reads configuration files while the kubelet runs. Anyone who administers the node may put anything in their place.
// Invariants: a read is bounded and has a deadline; a hung file system occupies one thread of the pool, however many are requested.
import { opendir } from 'node:fs/promises';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { readSmallFile } from './small-files.ts';

/** A configuration has a few KiB. */
const limitBytes = 256 * 1024;
const maxEntries = 1_000;
const deadlineMs = 10_000;

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
}

export class ConfigurationDirectory {
  readonly workingDirectory: string;
  readonly #clock: Clock;
  #hung: Promise<unknown> | undefined;

  constructor(workingDirectory: string, clock: Clock) {
    this.workingDirectory = workingDirectory;
    this.#clock = clock;
  }

  /** Rejects if the file is too large or not a regular file. Links are followed. */
  read(path: string): Promise<string> {
    return this.#run(path, () => readSmallFile(path, { limitBytes, followLinks: true }));
  }

  list(directory: string): Promise<readonly Entry[]> {
    return this.#run(directory, async () => {
      const entries: Entry[] = [];
      for await (const entry of await opendir(directory)) {
        if (entries.length === maxEntries) throw tooMany(directory);
        entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
      }
      return entries;
    });
  }

  async #run<T>(path: string, work: () => Promise<T>): Promise<T> {
    if (this.#hung !== undefined)
      throw new KubeletError('unavailable', 'Hung', `cannot read ${path}: an earlier read is still pending`);
    const running = work();
    try {
      const what = `reading ${path}`;
      return await withDeadline({ clock: this.#clock, ms: deadlineMs, what }, () => running);
    } catch (err) {
      if (err instanceof KubeletError && err.kind === 'timeout') this.#remember(running);
      throw err;
    }
  }

  #remember(running: Promise<unknown>): void {
    const end = (): void => {
      this.#hung = undefined;
    };
    this.#hung = running;
    running.then(end, end);
  }
}

function tooMany(path: string): KubeletError {
  return new KubeletError(
    'invalid',
    'TooLarge',
    `refusing to list ${path}: more than ${maxEntries} entries`,
    {
      details: { path, maxEntries },
    },
  );
}
