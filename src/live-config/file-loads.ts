// Loads the files and decides whether their content is new. Invalid content may be half-written, so it counts only if it stays.
// Invariant: each content is returned as changed once; files that stay invalid are reported, even if their text keeps changing.
import type { LoadResult } from './candidate.ts';
import type { ConfigStatus } from './config-status.ts';

interface FileLoadsDeps<Run> {
  /** Never rejects. */
  readonly load: () => Promise<LoadResult<Run>>;
  readonly status: Pick<ConfigStatus, 'countLoad'>;
  /** Requests the next load. */
  readonly again: () => void;
}

/** Consecutive loads of invalid files, whatever their text. */
const mostInvalid = 3;

export class FileLoads<Run> {
  readonly #deps: FileLoadsDeps<Run>;
  /** The checksum of the files that were returned last, valid or not. */
  #handled: string | undefined;
  #suspect: string | undefined;
  #invalid = 0;

  constructor(deps: FileLoadsDeps<Run>) {
    this.#deps = deps;
  }

  /** At the start of the process, the files with this checksum are in force or were reported. */
  begin(checksum: string): void {
    this.#handled = checksum;
  }

  /** `forced`: the operator requested it, and gets a report at once. */
  async load(forced: boolean): Promise<{ readonly isChanged: boolean; readonly loaded: LoadResult<Run> }> {
    const { again, load, status } = this.#deps;
    const loaded = await load();
    const isHandled = loaded.checksum === this.#handled;
    status.countLoad(isHandled ? 'unchanged' : loaded.kind === 'valid' ? 'changed' : 'invalid');
    if (isHandled || loaded.kind === 'valid' || forced || this.#staysInvalid(loaded.checksum)) {
      this.#suspect = undefined;
      this.#invalid = 0;
      this.#handled = loaded.checksum;
      return { isChanged: !isHandled, loaded };
    }
    again();
    return { isChanged: false, loaded };
  }

  #staysInvalid(checksum: string): boolean {
    const isSame = checksum === this.#suspect;
    this.#suspect = checksum;
    this.#invalid += 1;
    return isSame || this.#invalid >= mostInvalid;
  }
}
