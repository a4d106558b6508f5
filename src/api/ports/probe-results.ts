// What probes say of containers, as those read it who decide on restarts and readiness. Written by probes only.
// Upstream: pkg/kubelet/prober/results.
import type { Subscribable } from '../../base/channel.ts';
import type { ContainerId, PodUid } from '../pod/pod-ref.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

export type ProbeOutcome = 'success' | 'failure' | 'unknown';

export interface ProbeResultsView {
  /** Undefined: this probe has said nothing of this container yet, or there is no such probe. */
  get(id: ContainerId, kind: ProbeKind): ProbeOutcome | undefined;
  /** Announces the pod whose container's result has changed, after the store was updated. */
  readonly changed: Subscribable<PodUid>;
}

/** For who has nobody that probes. */
export const noProbeResults: ProbeResultsView = {
  get: () => undefined,
  changed: { subscribe: () => () => undefined },
};
