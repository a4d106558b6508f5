// Writes records to disk, one at a time, off the path of pods.
// Invariants: the last state of a record is what ends up on disk; what must be gone is written first; a failing disk is reported
// once, retried, and delays nothing but itself.
import type { Clock, Timer } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';

export interface RecordFiles {
  write(kind: string, key: string, text: string): Promise<void>;
  remove(kind: string, key: string): Promise<void>;
}

interface RecordWriterDeps {
  readonly files: RecordFiles;
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly log: Logger;
}

interface Pending {
  readonly kind: string;
  readonly key: string;
  /** Computed when it is written; undefined: the record is removed. */
  readonly text: (() => string) | undefined;
  /** An older text must not stay if this one cannot be written. */
  readonly orRemove: boolean;
  readonly dueMs: number;
}

const retryMs = 10_000;

export class RecordWriter {
  readonly #deps: RecordWriterDeps;
  readonly #pending = new Map<string, Pending>();
  #timer: Timer | undefined;
  #draining: Promise<void> | undefined;
  #isRunning = false;
  #isStopping = false;
  #hasFailed = false;

  constructor(deps: RecordWriterDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isRunning = true;
    this.#arm();
  }

  /** Writes what is pending, whether due or not. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#arm();
    await this.#draining;
    this.#isRunning = false;
    this.#timer?.cancel();
  }

  put(kind: string, key: string, text: () => string, waitMs: number): void {
    this.#add({ kind, key, text, orRemove: false, dueMs: this.#deps.clock.monotonic() + waitMs });
  }

  /** Before everything that may wait. If the disk is full, the record is removed. */
  putNow(kind: string, key: string, text: () => string): void {
    this.#add({ kind, key, text, orRemove: true, dueMs: Number.NEGATIVE_INFINITY });
  }

  remove(kind: string, key: string): void {
    this.#add({ kind, key, text: undefined, orRemove: false, dueMs: Number.NEGATIVE_INFINITY });
  }

  /** What is going to be written; undefined if nothing is. */
  pendingText(kind: string, key: string): string | undefined {
    return this.#pending.get(`${kind} ${key}`)?.text?.();
  }

  #add(next: Pending): void {
    const id = `${next.kind} ${next.key}`;
    const before = this.#pending.get(id);
    this.#pending.set(id, { ...next, dueMs: Math.min(before?.dueMs ?? next.dueMs, next.dueMs) });
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#isRunning || this.#draining !== undefined) return;
    const next = this.#earliest();
    if (next === undefined) return;
    const waitMs = Math.max(0, next[1].dueMs - this.#deps.clock.monotonic());
    if (waitMs === 0 || this.#isStopping) this.#drain();
    else this.#timer = this.#deps.clock.setTimer(waitMs, () => this.#drain());
  }

  #earliest(): readonly [string, Pending] | undefined {
    let first: readonly [string, Pending] | undefined;
    for (const each of this.#pending) if (first === undefined || each[1].dueMs < first[1].dueMs) first = each;
    return first;
  }

  #drain(): void {
    if (this.#draining !== undefined) return;
    this.#draining = this.#writeDue().finally(() => {
      this.#draining = undefined;
      this.#arm();
    });
  }

  async #writeDue(): Promise<void> {
    const retry: Pending[] = [];
    for (;;) {
      const next = this.#earliest();
      if (next === undefined) break;
      const [id, record] = next;
      if (!this.#isStopping && record.dueMs > this.#deps.clock.monotonic()) break;
      this.#pending.delete(id);
      if (!(await this.#write(record))) retry.push(record);
    }
    if (this.#isStopping) return;
    const dueMs = this.#deps.clock.monotonic() + retryMs;
    for (const record of retry) {
      const id = `${record.kind} ${record.key}`;
      if (!this.#pending.has(id)) this.#pending.set(id, { ...record, dueMs });
    }
  }

  async #write({ key, kind, orRemove, text }: Pending): Promise<boolean> {
    const { files, log } = this.#deps;
    try {
      if (text === undefined) await files.remove(kind, key);
      else await files.write(kind, key, text());
      this.#hasFailed = false;
      return true;
    } catch (err) {
      if (!this.#hasFailed)
        log.error('Failed to keep state for the next cut-off, will retry', { kind, key, err });
      this.#hasFailed = true;
      if (orRemove) await files.remove(kind, key).catch(() => undefined);
      return false;
    }
  }
}
