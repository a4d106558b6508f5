// What the running kubelet records for its page, beyond its stores. Types only: src/assemble provides the sources, and the page's
// server reads them on demand. Nothing is sampled without a viewer.
import type { Subscribable } from '../../base/channel.ts';
import type { PodUid } from '../pod/pod-ref.ts';
import type { InFlightCall, LoopView, PodStart, ProbeStrip } from './node-page.ts';

export interface PageSources {
  /** The starts of a pod, the newest first. `changed` announces each change of a stage. */
  readonly starts: { of(uid: PodUid): readonly PodStart[]; readonly changed: Subscribable<PodUid> };
  /** The results of a pod's probes, as runs of equal results. `changed` announces each result. */
  readonly probeRuns: {
    of(uid: PodUid): readonly ProbeStrip[];
    readonly changed: Subscribable<PodUid>;
  };
  /** Calls to other processes that have not returned, the oldest first, at most 100. Without those that stay open by design. */
  readonly calls: { list(): readonly InFlightCall[] };
  /** The load of every loop now. Takes time in proportion to the active keys. */
  readonly loops: () => readonly LoopView[];
}
