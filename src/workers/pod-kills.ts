// Kills requested by other components of the kubelet, with their callers. Upstream: killPodNow in pkg/kubelet/pod_workers.go.
// Invariants: the first reason stays; the shortest requested grace period applies; every caller is settled exactly once.

import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

interface Entry {
  kill: PodKill;
  readonly waiting: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }[];
}

export class PodKills {
  readonly #entries = new Map<PodUid, Entry>();

  get(uid: PodUid): PodKill | undefined {
    return this.#entries.get(uid)?.kill;
  }

  /** Resolves when nothing of the pod runs. */
  add(uid: PodUid, kill: PodKill): Promise<void> {
    const entry = this.#entries.get(uid) ?? { kill, waiting: [] };
    entry.kill = withShorterGrace(entry.kill, kill);
    this.#entries.set(uid, entry);
    return new Promise((resolve, reject) => entry.waiting.push({ resolve, reject }));
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
