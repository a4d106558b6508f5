// Manifests that are decoded in the worker thread: in flight, or finished and not yet collected.
// Invariant: one decoding per path; a change of the content aborts it, and so does stopAll.
import type { ManifestContent } from './known-file.ts';
import type { BuiltManifest } from './manifest-pods.ts';

export interface SlowRead {
  readonly content: ManifestContent;
  /** When the content was read, by the wall clock. */
  readonly readAtMs: number;
  /** Undefined while in flight. */
  result?: { readonly built: BuiltManifest } | { readonly err: unknown };
}

interface Running {
  readonly read: SlowRead;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class SlowReads {
  readonly #running = new Map<string, Running>();
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  add(
    path: string,
    content: ManifestContent,
    readAtMs: number,
    work: { readonly built: Promise<BuiltManifest>; readonly stop: AbortController },
  ): void {
    this.drop(path);
    const read: SlowRead = { content, readAtMs };
    this.#running.set(path, { read, stop: work.stop, ended: this.#follow(read, work.built) });
  }

  /** The decoding of exactly this content, in flight or finished. */
  get(path: string, stamp: string): SlowRead | undefined {
    const read = this.#running.get(path)?.read;
    return stamp !== '' && read?.content.stamp === stamp ? read : undefined;
  }

  drop(path: string): void {
    this.#running.get(path)?.stop.abort();
    this.#running.delete(path);
  }

  dropExcept(paths: ReadonlySet<string>): void {
    for (const path of this.#running.keys()) if (!paths.has(path)) this.drop(path);
  }

  /** Removes and yields the finished ones. */
  *ended(): Generator<readonly [string, SlowRead]> {
    for (const [path, { read }] of this.#running) {
      if (read.result === undefined) continue;
      this.#running.delete(path);
      yield [path, read];
    }
  }

  /** Resolves when all that are in flight now have settled. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async stopAll(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await this.settled();
  }

  async #follow(read: SlowRead, built: Promise<BuiltManifest>): Promise<void> {
    try {
      read.result = { built: await built };
    } catch (err) {
      read.result = { err };
    }
    this.#onEnd();
  }
}
