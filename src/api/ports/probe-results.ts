// Probe results as readers see them, for restarts and readiness. probes/ is the only writer.
// Upstream: pkg/kubelet/prober/results.
import type { Subscribable } from '../../base/channel.ts';
import type { ContainerId, PodUid } from '../pod/pod-ref.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

export type ProbeOutcome = 'success' | 'failure' | 'unknown';

export interface ProbeResultsView {
  /** Undefined: no result yet, or no such probe. */
  get(id: ContainerId, kind: ProbeKind): ProbeOutcome | undefined;
  /** Announces a pod after the result of one of its containers has changed. */
  readonly changed: Subscribable<PodUid>;
}

/** A store without results, for a kubelet without probes. */
export const noProbeResults: ProbeResultsView = {
  get: () => undefined,
  changed: { subscribe: () => () => undefined },
};
