// The results of all probes, by container. Upstream: pkg/kubelet/prober/results.
// Owns ProbeResults (sole writer: the probe workers). Invariants: updated before a key is announced; only changes are announced;
// a container that has exited has no result.

import type { ContainerId, PodUid } from '../api/pod/pod-ref.ts';
import type { ProbeKind, ProbeOutcome, ProbeResultsView } from '../api/ports/probe-results.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

type ByKind = Partial<Record<ProbeKind, ProbeOutcome>>;

export class ProbeResults implements ProbeResultsView, Store {
  readonly storeName = 'ProbeResults';
  readonly writer = 'probes';
  readonly changed = new Channel<PodUid>();
  readonly #byContainer = new Map<ContainerId, ByKind>();

  get(id: ContainerId, kind: ProbeKind): ProbeOutcome | undefined {
    return this.#byContainer.get(id)?.[kind];
  }

  /** Whether the startup probe has succeeded; undefined if the container has no result of one. */
  started(id: ContainerId): boolean | undefined {
    return isSuccess(this.get(id, 'startup'));
  }

  ready(id: ContainerId): boolean | undefined {
    return isSuccess(this.get(id, 'readiness'));
  }

  /** Sets the result before the first probe. Not announced: the observation of the container wakes all readers anyway. */
  begin(id: ContainerId, kind: ProbeKind, outcome: ProbeOutcome): void {
    this.#byContainer.set(id, { ...this.#byContainer.get(id), [kind]: outcome });
  }

  set(uid: PodUid, id: ContainerId, kind: ProbeKind, outcome: ProbeOutcome): void {
    if (this.get(id, kind) === outcome) return;
    this.begin(id, kind, outcome);
    this.changed.push(uid);
  }

  /** Removes one result of a container that has exited or whose probe was removed. */
  drop(id: ContainerId, kind: ProbeKind): void {
    const { [kind]: dropped, ...rest } = this.#byContainer.get(id) ?? {};
    if (dropped === undefined) return;
    if (Object.keys(rest).length === 0) this.#byContainer.delete(id);
    else this.#byContainer.set(id, rest);
  }

  /** How many containers have results; for leak checks. */
  get size(): number {
    return this.#byContainer.size;
  }
}

function isSuccess(outcome: ProbeOutcome | undefined): boolean | undefined {
  return outcome === undefined ? undefined : outcome === 'success';
}
