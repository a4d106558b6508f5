// The IDs of the newest records, so that an exited container that outlives a restart of the kubelet is recorded once.
// Invariants: read once, in slices, when the first end is recorded; bounded. An exited container that exists after 20,000
// further records and a restart is recorded again.
import { Slices, type SlicesDeps } from '../base/slices.ts';
import { lineId } from './end-record.ts';

const maxIds = 20_000;

interface RecordedIdsDeps extends SlicesDeps {
  readonly segments: { newestFirst(): AsyncIterable<Buffer> };
  readonly onUnreadable: (err: unknown) => void;
}

export class RecordedIds {
  readonly #deps: RecordedIdsDeps;
  readonly #ids = new Set<string>();
  #loaded: Promise<void> | undefined;

  constructor(deps: RecordedIdsDeps) {
    this.#deps = deps;
  }

  /** Never rejects: without the earlier IDs, an end may be recorded twice. */
  load(): Promise<void> {
    return (this.#loaded ??= this.#read().catch(this.#deps.onUnreadable));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= maxIds) return;
      this.#ids.delete(oldest);
    }
  }

  async #read(): Promise<void> {
    const slices = new Slices(this.#deps);
    const newestFirst: string[] = [];
    for await (const line of this.#deps.segments.newestFirst()) {
      const id = lineId(line);
      if (id !== undefined) newestFirst.push(id);
      if (newestFirst.length >= maxIds) break;
      await slices.yieldIfDue();
    }
    for (const id of newestFirst.toReversed()) this.add(id);
  }
}
