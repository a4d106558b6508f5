// A checkpoint that never keeps the kubelet from starting. Every write keeps its predecessor; a file that cannot be read or
// decoded is set aside, and its predecessor is used instead if it can be.
// differs from upstream, which refuses to start until the node is drained and the file is deleted.
// Invariants: the file itself is the Go kubelet's; the names beside it start with a dot, which the Go kubelet ignores; a power
// loss or a kill leaves the file or its predecessor whole.
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { CheckpointFile, type StateFiles } from './checkpoint-file.ts';

export interface KeptFiles extends Pick<StateFiles, 'read' | 'replace' | 'flush'> {
  /** Gives the file a second name, replacing what had it; nothing if the file does not exist. */
  keep(path: string, as: string): Promise<void>;
}

interface KeptCheckpointOptions<T> {
  readonly files: KeptFiles;
  readonly path: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Throws if the text is not a checkpoint of this kind. */
  readonly decode: (text: string) => T;
  readonly encode: () => string;
  readonly onError: (err: unknown) => void;
}

export interface CheckpointFault {
  readonly path: string;
  readonly why: string;
  /** Where the damaged file is now. */
  readonly setAside: string;
  /** Whether the predecessor took its place. */
  readonly usedPrevious: boolean;
}

export interface LoadedCheckpoint<T> {
  /** Undefined: there is none, or neither the file nor its predecessor can be used. */
  readonly state: T | undefined;
  readonly fault: CheckpointFault | undefined;
}

export class KeptCheckpoint<T> {
  readonly #options: KeptCheckpointOptions<T>;
  readonly #file: CheckpointFile;
  /** The file is damaged and not yet replaced, so that it must not take the place of its predecessor. */
  #isDamaged = false;

  constructor(options: KeptCheckpointOptions<T>) {
    this.#options = options;
    const { files, path } = options;
    const replace = async (target: string, text: string): Promise<void> => {
      if (!this.#isDamaged) await files.keep(path, this.#previous).catch(options.onError);
      await files.replace(target, text);
      this.#isDamaged = false;
    };
    this.#file = new CheckpointFile({ ...options, files: { read: files.read, flush: files.flush, replace } });
  }

  get #previous(): string {
    return this.#beside('previous');
  }

  #beside(what: string): string {
    const { path } = this.#options;
    return join(dirname(path), `.${basename(path)}.${what}`);
  }

  /** After a fault the caller saves the state that it continues with, so that the next start finds a file that is whole. */
  async load(): Promise<LoadedCheckpoint<T>> {
    const { files, onError, path } = this.#options;
    try {
      const text = await this.#file.read();
      return { state: text === undefined ? undefined : this.#decode(text), fault: undefined };
    } catch (err) {
      this.#isDamaged = true;
      const setAside = this.#beside('damaged');
      await files.keep(path, setAside).catch(onError);
      const previous = await this.#decodePrevious();
      const fault = { path, why: describeError(err), setAside, usedPrevious: previous !== undefined };
      return { state: previous, fault };
    }
  }

  async #decodePrevious(): Promise<T | undefined> {
    try {
      const text = await this.#options.files.read(this.#previous);
      return text === undefined ? undefined : this.#decode(text);
    } catch {
      // Both are damaged: the state is rebuilt.
      return undefined;
    }
  }

  #decode(text: string): T {
    // A power loss may leave a file that was just written without its content.
    if (isBlank(text)) throw new KubeletError('invalid', 'CorruptCheckpoint', 'it is empty');
    return this.#options.decode(text);
  }

  /** Queues a write of the current state and returns at once. `saved` waits for it. */
  save(): void {
    this.#file.save();
  }

  /** Resolves when the current state is in the file. Rejects if the write failed. */
  async saved(): Promise<void> {
    await this.#file.saved();
  }

  /** Resolves when everything written is on disk. */
  async flush(): Promise<void> {
    await this.#file.flush();
  }
}

/** Whether the text is empty or consists of zero bytes. */
function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== 0) return false;
  return true;
}
