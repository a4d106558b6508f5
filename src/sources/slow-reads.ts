// Manifests too large to be read at once: what became of each, until somebody asks for it.
// Invariant: one read per path; another content of the path ends it, and so does stopAll.
import type { ManifestContent } from './known-file.ts';
import type { MadeManifest } from './manifest-pods.ts';

export interface SlowRead {
  readonly content: ManifestContent;
  /** When the content was read, by the wall clock. */
  readonly readAtMs: number;
  /** Undefined while it goes on. */
  result?: { readonly made: MadeManifest } | { readonly err: unknown };
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
    work: { readonly made: Promise<MadeManifest>; readonly stop: AbortController },
  ): void {
    this.drop(path);
    const read: SlowRead = { content, readAtMs };
    this.#running.set(path, { read, stop: work.stop, ended: this.#follow(read, work.made) });
  }

  /** The read of this very content, under way or ended. */
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

  /** Takes out what has ended. */
  *ended(): Generator<readonly [string, SlowRead]> {
    for (const [path, { read }] of this.#running) {
      if (read.result === undefined) continue;
      this.#running.delete(path);
      yield [path, read];
    }
  }

  /** When all that are under way now have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async stopAll(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await this.settled();
  }

  async #follow(read: SlowRead, made: Promise<MadeManifest>): Promise<void> {
    try {
      read.result = { made: await made };
    } catch (err) {
      read.result = { err };
    }
    this.#onEnd();
  }
}
