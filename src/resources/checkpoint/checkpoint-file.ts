// Keeps a store's state in one small file that survives a kill of the kubelet and, a few seconds later, a power loss (which
// ends the containers that the state is about anyway). Upstream: pkg/kubelet/checkpointmanager.
// Invariants: at most one write is in flight and one queued, however many changes arrive; a queued write encodes the state as
// of its start; the same text is not written twice in a row; a waiting caller starts the write at once, otherwise it is coalesced.
import type { Clock, Timer } from '../../base/clock.ts';

/** Small files that are written atomically. */
export interface StateFiles {
  /** Undefined if it does not exist. */
  read(path: string): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  /** As `write`, without waiting for the disk: survives a kill of the process, not a power loss. */
  replace(path: string, text: string): Promise<void>;
  /** Resolves when the replaced content is on disk. */
  flush(path: string): Promise<void>;
}

interface CheckpointFileOptions {
  readonly files: Pick<StateFiles, 'read' | 'replace' | 'flush'>;
  readonly path: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Returns the current state as text. */
  readonly encode: () => string;
  readonly onError: (err: unknown) => void;
}

/** Coalesces the pods of a burst. Shorter than the creation of a container, whose start waits for the write. */
const coalesceMs = 8;
/** Delay of the flush. Each flush makes the disk write the pending changes of every process, so it is not done per write. */
const flushDelayMs = 2_000;

export class CheckpointFile {
  readonly #options: CheckpointFileOptions;
  /** The last text written to or read from the file. */
  #written: string | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failed = false;
  /** Starts the queued write without further delay. */
  #startNow: () => void = () => undefined;
  #flushTimer: Timer | undefined;

  constructor(options: CheckpointFileOptions) {
    this.#options = options;
  }

  async read(): Promise<string | undefined> {
    this.#written = await this.#options.files.read(this.#options.path);
    return this.#written;
  }

  /** Queues a write of the current state and returns at once. `saved` waits for it. */
  save(): void {
    if (this.#next !== undefined) return;
    const before = this.#current ?? Promise.resolve();
    const next = Promise.all([before.catch(() => undefined), this.#coalesce()])
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

  /** Resolves when the current state is in the file. Rejects if the write failed. */
  async saved(): Promise<void> {
    if (this.#failed && this.#next === undefined) this.save();
    this.#startNow();
    await (this.#next ?? this.#current);
  }

  /** Resolves when everything written is on disk. */
  async flush(): Promise<void> {
    const { files, onError, path } = this.#options;
    if (this.#flushTimer === undefined) return;
    this.#flushTimer.cancel();
    this.#flushTimer = undefined;
    await files.flush(path).catch(onError);
  }

  #coalesce(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(coalesceMs, () => resolve());
      this.#startNow = () => {
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
    this.#flushTimer ??= clock.setTimer(flushDelayMs, () => void this.flush());
  }
}

/** Upstream's message for a file whose checksum does not match its content. */
export const corruptCheckpoint = 'checkpoint is corrupted';
