// The last generated status of every pod that has a worker. Upstream: the cache of pkg/kubelet/status.
// Owns PodStatuses (sole writer: the status loop). Invariant: the store is updated before a key is announced.
import type { PodStatus } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class PodStatuses implements Store {
  readonly storeName = 'PodStatuses';
  readonly writer = 'status';
  readonly changed = new Channel<PodUid>();
  readonly #statuses = new Map<PodUid, PodStatus>();
  #version = 0;

  /** Increases with every change, so that a reader can detect a stale copy. */
  get version(): number {
    return this.#version;
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#statuses.get(uid);
  }

  all(): ReadonlyMap<PodUid, PodStatus> {
    return this.#statuses;
  }

  put(uid: PodUid, status: PodStatus): void {
    this.#statuses.set(uid, status);
    this.#announce(uid);
  }

  drop(uid: PodUid): void {
    if (this.#statuses.delete(uid)) this.#announce(uid);
  }

  #announce(uid: PodUid): void {
    this.#version += 1;
    this.changed.push(uid);
  }
}
