// The last inspection of every pod on the runtime. Upstream: pkg/kubelet/container/cache.go.
// Owns ObservedPods (sole writer: pleg). Invariants: the store is updated before a key is announced; an inspection without
// changes announces nothing, so that a worker whose inspection found nothing new does not wake itself.
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
   * Stores the result of an inspection; undefined removes the pod. `isFirst`: other components wait for the first inspection of
   * this pod, so it is announced even if the runtime does not have the pod.
   */
  put(uid: PodUid, pod: ObservedPod | undefined, { isFirst = false } = {}): void {
    if (pod === undefined) {
      if (!this.#pods.delete(uid) && !isFirst) return;
    } else {
      const before = this.#pods.get(uid);
      this.#pods.set(uid, pod);
      if (before !== undefined && isUnchanged(before, pod)) return;
    }
    this.#version += 1;
    this.changed.push(uid);
  }
}

/** Unchanged objects are carried over from one inspection to the next, so comparing identities is enough. */
function isUnchanged(before: ObservedPod, after: ObservedPod): boolean {
  return sameItems(before.sandboxes, after.sandboxes) && sameItems(before.containers, after.containers);
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
