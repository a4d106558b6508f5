// What was last seen of every pod on the runtime. Upstream: pkg/kubelet/container/cache.go.
// Owns ObservedPods (sole writer: pleg). Invariants: the store is updated before a key is announced; a look that saw nothing
// new announces nothing, so that a loop that looks because it was woken does not wake itself.
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class ObservedPods implements Store {
  readonly storeName = 'ObservedPods';
  readonly writer = 'pleg';
  readonly changed = new Channel<PodUid>();
  readonly #pods = new Map<PodUid, ObservedPod>();
  #version = 0;

  get version(): number {
    return this.#version;
  }

  get(uid: PodUid): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  all(): ReadonlyMap<PodUid, ObservedPod> {
    return this.#pods;
  }

  /**
   * Stores what an inspection saw; a pod of which nothing is left leaves the store. `first`: others wait for the first look
   * at this pod, so that even one that saw nothing is news.
   */
  put(uid: PodUid, pod: ObservedPod | undefined, { first = false } = {}): void {
    if (pod === undefined) {
      if (!this.#pods.delete(uid) && !first) return;
    } else {
      const before = this.#pods.get(uid);
      this.#pods.set(uid, pod);
      if (before !== undefined && sawTheSame(before, pod)) return;
    }
    this.#version += 1;
    this.changed.push(uid);
  }
}

/** What did not change is carried over from one inspection to the next, so that identity tells. */
function sawTheSame(before: ObservedPod, after: ObservedPod): boolean {
  return sameItems(before.sandboxes, after.sandboxes) && sameItems(before.containers, after.containers);
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
