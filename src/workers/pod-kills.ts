// Kills requested by other components of the kubelet, with their callers. Upstream: killPodNow in pkg/kubelet/pod_workers.go.
// A store that any component may add to; only the workers settle its entries. Invariants: the first reason stays; the shortest
// requested grace period applies; every caller is settled exactly once.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

interface Entry {
  kill: PodKill;
  readonly waiting: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }[];
}

export class PodKills implements Store {
  readonly storeName = 'PodKills';
  readonly writer = 'admission, eviction, node-shutdown (requests), pod-workers (outcomes)';
  readonly changed = new Channel<PodUid>();
  readonly #entries = new Map<PodUid, Entry>();

  get(uid: PodUid): PodKill | undefined {
    return this.#entries.get(uid)?.kill;
  }

  /**
   * Terminates a pod that its source still has. Its phase becomes Failed with this reason and message, and this process does not
   * start it again. Resolves when nothing of the pod runs; at once when there is no such pod.
   */
  kill(uid: PodUid, kill: PodKill): Promise<void> {
    const entry = this.#entries.get(uid) ?? { kill, waiting: [] };
    entry.kill = withShorterGrace(entry.kill, kill);
    this.#entries.set(uid, entry);
    const terminated = new Promise<void>((resolve, reject) => entry.waiting.push({ resolve, reject }));
    this.changed.push(uid);
    return terminated;
  }

  /** Nothing of the pod runs any more. */
  settle(uid: PodUid): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    for (const { resolve } of entry?.waiting ?? []) resolve();
  }

  rejectAll(reason: unknown): void {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { waiting } of entries) for (const { reject } of waiting) reject(reason);
  }
}

function withShorterGrace(first: PodKill, then: PodKill): PodKill {
  const requested = [first.graceSeconds, then.graceSeconds].filter((each) => each !== undefined);
  return requested.length === 0 ? first : { ...first, graceSeconds: Math.min(...requested) };
}
