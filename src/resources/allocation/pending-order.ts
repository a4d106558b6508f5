// In which order resizes that wait are tried: those that only give back first, then by priority, class and how long they wait.
// Pure. Upstream: sortPendingResizes in pkg/kubelet/allocation.
import type { PodUid } from '../../api/pod/pod-ref.ts';

export interface PendingResize {
  readonly uid: PodUid;
  readonly asksForMore: boolean;
  readonly priority: number;
  readonly guaranteed: boolean;
  /** Undefined: nobody has said yet that it waits. */
  readonly sinceMs: number | undefined;
}

export function orderPending<P extends PendingResize>(pending: readonly P[]): readonly P[] {
  return pending.toSorted(
    (a, b) =>
      Number(a.asksForMore) - Number(b.asksForMore) ||
      b.priority - a.priority ||
      Number(b.guaranteed) - Number(a.guaranteed) ||
      waiting(a) - waiting(b),
  );
}

function waiting({ sinceMs }: PendingResize): number {
  return sinceMs ?? Number.MAX_SAFE_INTEGER;
}
