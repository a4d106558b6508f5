// The pods whose worker is running now. Owns PodsInSync (sole writer: the workers).
// Read by the PLEG: a run inspects its own pod after it has acted, so a relist leaves that pod alone.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Store } from '../base/store.ts';

export class PodsInSync implements Store {
  readonly storeName = 'PodsInSync';
  readonly writer = 'pod-workers';
  readonly #uids = new Set<PodUid>();

  has(uid: PodUid): boolean {
    return this.#uids.has(uid);
  }

  async during(uid: PodUid, run: () => Promise<void>): Promise<void> {
    this.#uids.add(uid);
    try {
      await run();
    } finally {
      this.#uids.delete(uid);
    }
  }
}
