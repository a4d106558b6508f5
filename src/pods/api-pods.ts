// This node's pods as the API server has them, with mirror pods kept separately. Statuses are diffed against these objects.
// Owns ApiPods (sole writer: the API source). Invariant: the store is updated before a key is announced.
// Upstream: the mirror half of pkg/kubelet/pod (manager).

import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podFullName, podUid } from '../api/pod/pod-ref.ts';
import type { WatchSink } from '../api/ports/api-client.ts';
import { isMirrorPod } from '../api/ports/pod-source.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class ApiPods implements WatchSink<Pod>, Store {
  readonly storeName = 'ApiPods';
  readonly writer = 'api-source';
  readonly changed = new Channel<PodUid>();
  /** Announces full names (`name_namespace`), which a mirror pod shares with its static pod. */
  readonly mirrorChanged = new Channel<string>();
  /** Announced once, after the API server has listed the pods for the first time. */
  readonly synced = new Channel<void>();
  readonly #pods = new Map<PodUid, Pod>();
  readonly #mirrors = new Map<string, Pod>();
  #synced = false;

  get(uid: PodUid): Pod | undefined {
    return this.#pods.get(uid);
  }

  mirror(fullName: string): Pod | undefined {
    return this.#mirrors.get(fullName);
  }

  mirrorNames(): readonly string[] {
    return [...this.#mirrors.keys()];
  }

  /** Whether the API server has listed the pods once. */
  hasSynced(): boolean {
    return this.#synced;
  }

  replace(pods: readonly Pod[]): void {
    const uids = new Set(pods.map(podUid));
    const stale = [...this.#pods.values(), ...this.#mirrors.values()].filter((pod) => !uids.has(podUid(pod)));
    const isFirst = !this.#synced;
    this.#synced = true;
    for (const pod of stale) this.remove(pod);
    for (const pod of pods) this.upsert(pod);
    if (isFirst) this.synced.push();
  }

  upsert(pod: Pod): void {
    if (isMirrorPod(pod)) {
      const name = podFullName(pod);
      this.#mirrors.set(name, pod);
      this.mirrorChanged.push(name);
    } else {
      this.#pods.set(podUid(pod), pod);
      this.changed.push(podUid(pod));
    }
  }

  remove(pod: Pod): void {
    const uid = podUid(pod);
    const name = podFullName(pod);
    const mirror = this.#mirrors.get(name);
    if (mirror !== undefined && podUid(mirror) === uid) {
      this.#mirrors.delete(name);
      this.mirrorChanged.push(name);
    }
    if (this.#pods.delete(uid)) this.changed.push(uid);
  }
}
