// One small file that holds a store's state, and goes on holding it when the kubelet is killed; a few seconds later also when
// the machine loses its power, which ends what the state is about. Upstream: pkg/kubelet/checkpointmanager. Invariants: at most one write at a time and one that waits for it, however many changes
// come meanwhile; what the waiting one writes is what holds when it begins; the same text is not written twice in a row;
// whoever waits for a write makes it begin at once, otherwise changes are gathered for a moment.
import type { Clock, Timer } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';

/** Small files that are written whole or not at all. */
export interface StateFiles {
  /** Undefined when it is not there. */
  read(path: string): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  /** The same without waiting for the disk: what is killed is this process, not the machine. */
  replace(path: string, text: string): Promise<void>;
  /** Waits until the disk has what was replaced. */
  settle(path: string): Promise<void>;
}

interface CheckpointFileOptions {
  readonly files: Pick<StateFiles, 'read' | 'replace' | 'settle'>;
  readonly path: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** What is to be in the file now. */
  readonly encode: () => string;
  readonly onError: (err: unknown) => void;
}

/** Pods that come together are written together. Less than the making of a container takes, after which somebody waits. */
const gatherMs = 8;
/** Every wait for the disk makes it write everything that anybody has changed meanwhile. */
const settleMs = 2_000;

export class CheckpointFile {
  readonly #options: CheckpointFileOptions;
  /** The last text that is known to be in the file. */
  #written: string | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failed = false;
  /** Ends the gathering for the write that waits. */
  #hurry: () => void = () => undefined;
  #settling: Timer | undefined;

  constructor(options: CheckpointFileOptions) {
    this.#options = options;
  }

  async read(): Promise<string | undefined> {
    this.#written = await this.#options.files.read(this.#options.path);
    return this.#written;
  }

  /** Has the file follow. Returns at once; whoever needs it to be there asks `saved`. */
  save(): void {
    if (this.#next !== undefined) return;
    const before = this.#current ?? Promise.resolve();
    const next = Promise.all([before.catch(() => undefined), this.#gather()])
      .then(() => {
        this.#current = next;
        this.#next = undefined;
        return this.#write();
      })
      .finally(() => {
        if (this.#current === next) this.#current = undefined;
      });
    this.#next = next;
    next.catch(this.#options.onError);
  }

  /** Resolves when everything that holds now is in the file; rejects when that could not be written. */
  async saved(): Promise<void> {
    if (this.#failed && this.#next === undefined) this.save();
    this.#hurry();
    await (this.#next ?? this.#current);
  }

  /** Resolves when what was written is on the disk. */
  async settle(): Promise<void> {
    const { files, onError, path } = this.#options;
    if (this.#settling === undefined) return;
    this.#settling.cancel();
    this.#settling = undefined;
    await files.settle(path).catch(onError);
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(gatherMs, () => resolve());
      this.#hurry = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async #write(): Promise<void> {
    const { clock, encode, files, path } = this.#options;
    const text = encode();
    if (text === this.#written) return;
    this.#failed = true;
    await files.replace(path, text);
    this.#failed = false;
    this.#written = text;
    this.#settling ??= clock.setTimer(settleMs, () => void this.settle());
  }
}

/** A file of an earlier life cannot be trusted. Nothing is guessed: the operator decides. */
export function cannotRestore(why: string, what: string, path: string): KubeletError {
  return new KubeletError(
    'invalid',
    'CorruptCheckpoint',
    `could not restore state from checkpoint: ${why}, please drain this node and delete ${what} checkpoint file ${JSON.stringify(path)} before restarting Kubelet`,
  );
}

/** Upstream's words for a file whose checksum is not that of its content. */
export const corruptCheckpoint = 'checkpoint is corrupted';
