// Decides when a pod has ended, so that what it holds may be allocated to another one. Pure.
// Upstream: the active pods by which the CPU, memory and device managers remove stale state.
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Subscribable } from '../../base/channel.ts';

export interface PodEndViews {
  readonly desired: {
    readonly changed: Subscribable<PodUid>;
    /** All sources have reported. */
    readonly ready: Subscribable<void>;
    sourcesReady(): boolean;
    get(uid: PodUid): unknown;
  };
  readonly lifecycles: {
    readonly changed: Subscribable<PodUid>;
    get(uid: PodUid): PodLifecycle | undefined;
  };
  readonly observed: {
    readonly changed: Subscribable<PodUid>;
    get(uid: PodUid): ObservedPod | undefined;
  };
  readonly pleg: {
    /** The runtime has answered for the first time, or again. */
    readonly answered: Subscribable<void>;
    isInspected(uid: PodUid): boolean;
  };
}

export function hasPodEnded(uid: PodUid, { desired, lifecycles, observed, pleg }: PodEndViews): boolean {
  switch (lifecycles.get(uid)?.state) {
    case 'syncing':
    case 'terminating':
      return false;
    case 'terminated':
      return true;
    case 'rejected':
      // Rejected after a restart of the kubelet: its containers are stopped after that.
      return isDown(observed.get(uid));
    case undefined:
      // No worker has it: a pod of an earlier process, which a source or the runtime may still report.
      return (
        desired.sourcesReady() &&
        pleg.isInspected(uid) &&
        desired.get(uid) === undefined &&
        isDown(observed.get(uid))
      );
  }
}

/** After a change of its lifecycle: its worker has forgotten the pod. A source may have added it again, as a new pod. */
export function wasPodForgotten(
  uid: PodUid,
  { lifecycles, observed }: Pick<PodEndViews, 'lifecycles' | 'observed'>,
): boolean {
  return lifecycles.get(uid) === undefined && isDown(observed.get(uid));
}
