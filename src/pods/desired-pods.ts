// The pods assigned to this node, by source. Owns DesiredPods (sole writer: the sources, each replacing its own set).
// Invariants: the store is updated before a key is announced; a source that has not reported yet is distinguished from one
// that reported no pods. Upstream: pkg/kubelet/pod (manager) and pkg/kubelet/config (PodStorage).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export type SourceName = 'file' | 'http' | 'api';

interface DesiredPod {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly source: SourceName;
  /** Order of first arrival; lower starts first. */
  readonly order: number;
}

export class DesiredPods implements Store {
  readonly storeName = 'DesiredPods';
  readonly writer = 'file-source, http-source, api-source';
  readonly changed = new Channel<PodUid>();
  /** Announced once, when the last of the awaited sources has reported. */
  readonly ready = new Channel<void>();
  readonly #byUid = new Map<PodUid, DesiredPod>();
  readonly #awaited: Set<SourceName>;
  readonly #reported = new Set<SourceName>();
  #nextOrder = 1;
  #version = 0;

  constructor(options: { readonly sources: readonly SourceName[] }) {
    this.#awaited = new Set(options.sources);
  }

  /** Increases with every change, so that a reader can detect a stale copy. */
  get version(): number {
    return this.#version;
  }

  get(uid: PodUid): DesiredPod | undefined {
    return this.#byUid.get(uid);
  }

  all(): readonly DesiredPod[] {
    return [...this.#byUid.values()];
  }

  /** No pod may be treated as removed before this is true. */
  sourcesReady(): boolean {
    return [...this.#awaited].every((source) => this.#reported.has(source));
  }

  /** Replaces the pods of `source`. Unchanged pods are not announced. */
  set(source: SourceName, pods: readonly Pod[]): void {
    const announce = this.#replace(source, pods);
    const wasReady = this.sourcesReady();
    this.#reported.add(source);
    this.#announce(announce);
    if (!wasReady && this.sourcesReady()) this.ready.push();
  }

  /** As `set`, with pods that an earlier process knew: the source has not reported, so no other pod is treated as removed. */
  setKept(source: SourceName, pods: readonly Pod[]): void {
    this.#announce(this.#replace(source, pods));
  }

  /** Returns the pods to announce. */
  #replace(source: SourceName, pods: readonly Pod[]): readonly PodUid[] {
    const updated = new Map(pods.map((pod) => [podUid(pod), pod]));
    const announce: PodUid[] = [];
    for (const [uid, desired] of this.#byUid) {
      if (desired.source === source && !updated.has(uid)) {
        this.#byUid.delete(uid);
        announce.push(uid);
      }
    }
    for (const [uid, pod] of updated) {
      const before = this.#byUid.get(uid);
      // A UID belongs to the source that reported it first.
      if (before !== undefined && before.source !== source) continue;
      if (before !== undefined && samePod(before.pod, pod)) continue;
      this.#byUid.set(uid, { uid, pod, source, order: before?.order ?? this.#nextOrder++ });
      announce.push(uid);
    }
    return announce;
  }

  #announce(uids: readonly PodUid[]): void {
    if (uids.length > 0) this.#version += 1;
    for (const uid of uids) this.changed.push(uid);
  }
}

/** Equal apart from the seen annotation. */
function samePod(a: Pod, b: Pod): boolean {
  return a === b || comparable(a) === comparable(b);
}

function comparable(pod: Pod): string {
  return JSON.stringify(pod, (key, value: unknown) => (key === seenAnnotation ? undefined : value));
}
