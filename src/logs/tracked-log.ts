// The log of one container: its open current file, the last sample of its size, and the operation on its files.
// Invariants: at most one operation changes the files of a log at once; after release() none does; the current file is closed once
// the container no longer runs.
import type { ContainerId, PodUid } from '../api/pod/pod-ref.ts';
import { Aborted } from '../base/errors.ts';
import type { Sample } from './next-sample.ts';
import type { LiveLog } from './rotation-host.ts';

interface TrackedContainer {
  readonly id: ContainerId;
  readonly uid: PodUid;
  /** For log messages. */
  readonly pod: string;
  readonly name: string;
  readonly path: string;
}

export class TrackedLog {
  readonly container: TrackedContainer;
  isRunning: boolean;
  /** When its size is read next, by the monotonic clock; undefined while a write or an operation is awaited. */
  dueMs: number | undefined;
  /** Undefined before the first sample and after a silence. */
  lastSample: Sample | undefined;
  /** The current file may no longer be the one at its path. */
  isSuspect = false;
  /** A failure was logged; repetitions are not. */
  hasFailed = false;
  readonly #ended = new AbortController();
  #live: LiveLog | undefined;
  #watch: { close(): void } | undefined;
  #compressing: string | undefined;
  #operation: Promise<void> = Promise.resolve();
  #compression: Promise<unknown> = Promise.resolve();

  constructor(container: TrackedContainer, isRunning: boolean) {
    this.container = container;
    this.isRunning = isRunning;
  }

  get live(): LiveLog | undefined {
    return this.#live;
  }

  /** Aborted when the container has stopped running, is removed, or the kubelet stops. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The rotated file that is being compressed. */
  get compressing(): string | undefined {
    return this.#compressing;
  }

  /** The name of the current file. */
  get fileName(): string {
    return this.container.path.slice(this.container.path.lastIndexOf('/') + 1);
  }

  setLive(live: LiveLog | undefined): void {
    this.unwatch();
    this.#live?.close();
    this.#live = live;
    this.lastSample = undefined;
  }

  get isWatched(): boolean {
    return this.#watch !== undefined;
  }

  unwatch(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  /** Calls back once. False if it cannot be watched. Only one watch at a time. */
  watch(onWrite: () => void): boolean {
    this.unwatch();
    this.#watch = this.#live?.whenWritten(() => {
      this.#watch = undefined;
      onWrite();
    });
    return this.#watch !== undefined;
  }

  /** The container no longer runs, or is gone. */
  end(): void {
    this.isRunning = false;
    this.dueMs = undefined;
    this.setLive(undefined);
    this.#ended.abort(new Aborted('the container no longer runs'));
  }

  /** Runs after the operations before. */
  async exclusively<T>(operation: () => Promise<T>): Promise<T> {
    const before = this.#operation;
    let done = (): void => undefined;
    this.#operation = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      return await operation();
    } finally {
      done();
    }
  }

  /** Runs beside operations. At most one at once. */
  async compress(name: string, compression: () => Promise<void>): Promise<void> {
    this.#compressing = name;
    const running = compression();
    this.#compression = running.catch(() => undefined);
    try {
      await running;
    } finally {
      this.#compressing = undefined;
    }
  }

  /** Resolves when nothing is in flight. */
  async settled(): Promise<void> {
    await this.#compression;
    await this.#operation;
  }
}
