// Orders pending resizes: those that only decrease first, then by priority, QoS class and age. Pure.
// Upstream: sortPendingResizes in pkg/kubelet/allocation.
import type { PodUid } from '../../api/pod/pod-ref.ts';

export interface PendingResize {
  readonly uid: PodUid;
  readonly increasesRequests: boolean;
  readonly priority: number;
  readonly guaranteed: boolean;
  /** When it was first deferred; undefined if it was not tried yet. */
  readonly sinceMs: number | undefined;
}

export function orderPending<P extends PendingResize>(pending: readonly P[]): readonly P[] {
  return pending.toSorted(
    (a, b) =>
      Number(a.increasesRequests) - Number(b.increasesRequests) ||
      b.priority - a.priority ||
      Number(b.guaranteed) - Number(a.guaranteed) ||
      deferredAtMs(a) - deferredAtMs(b),
  );
}

function deferredAtMs({ sinceMs }: PendingResize): number {
  return sinceMs ?? Number.MAX_SAFE_INTEGER;
}
