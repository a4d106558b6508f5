// What was last seen of every pod on the runtime. Upstream: pkg/kubelet/container/cache.go.
// Owns ObservedPods (sole writer: pleg). Invariant: the store is updated before a key is announced.
import type { ObservedPod } from '../api/observed.ts';
import type { PodUid } from '../api/pod-ref.ts';
import { Channel } from '../base/channel.ts';

export class ObservedPods {
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

  /** Stores what an inspection saw; a pod of which nothing is left leaves the store. */
  put(uid: PodUid, pod: ObservedPod | undefined): void {
    if (pod === undefined) {
      if (!this.#pods.delete(uid)) return;
    } else {
      this.#pods.set(uid, pod);
    }
    this.#version += 1;
    this.changed.push(uid);
  }
}
