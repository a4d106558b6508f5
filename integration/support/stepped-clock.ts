// The wall clock of one kubelet, to be set while it runs: libfaketime answers for the kernel, in that process alone. What
// counts seconds (the monotonic clock) goes on as it does on a machine whose clock is set.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const libraries = ['x86_64', 'aarch64'].map((arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketime.so.1`);
const library = libraries.find((path) => existsSync(path));

/** Undefined: clocks can be set. */
export const fakeTimeUnavailableReason =
  library === undefined ? 'libfaketime is not on this machine' : undefined;

export class SteppedClock {
  readonly #file: string;

  constructor(directory: string) {
    this.#file = join(directory, 'clock');
    this.set(0);
  }

  /** For the process whose clock it is. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_RESET: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** So many seconds before or after everybody else's. */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }
}
