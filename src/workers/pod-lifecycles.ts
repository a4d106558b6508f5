// The published state of every pod's worker. Owns PodLifecycles (sole writer: the workers).
// Invariant: the store is updated before a key is announced.
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class PodLifecycles implements Store {
  readonly storeName = 'PodLifecycles';
  readonly writer = 'pod-workers';
  readonly changed = new Channel<PodUid>();
  readonly #lifecycles = new Map<PodUid, PodLifecycle>();

  get(uid: PodUid): PodLifecycle | undefined {
    return this.#lifecycles.get(uid);
  }

  all(): ReadonlyMap<PodUid, PodLifecycle> {
    return this.#lifecycles;
  }

  put(uid: PodUid, lifecycle: PodLifecycle): void {
    const before = this.#lifecycles.get(uid);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(lifecycle)) return;
    this.#lifecycles.set(uid, lifecycle);
    this.changed.push(uid);
  }

  delete(uid: PodUid): void {
    if (this.#lifecycles.delete(uid)) this.changed.push(uid);
  }
}
