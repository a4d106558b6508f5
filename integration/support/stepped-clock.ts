// The wall clock of one kubelet process, which a test can step while it runs, by libfaketime. The monotonic clock is
// not affected, as on a machine whose clock is set.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const libraries = ['x86_64', 'aarch64'].map((arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketime.so.1`);
const library = libraries.find((path) => existsSync(path));

/** Undefined if libfaketime is available. */
export const fakeTimeUnavailableReason = library === undefined ? 'libfaketime not found' : undefined;

export class SteppedClock {
  readonly #file: string;

  constructor(directory: string) {
    this.#file = join(directory, 'clock');
    this.set(0);
  }

  /** The environment of the process. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_RESET: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the offset from the real time. */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }
}
