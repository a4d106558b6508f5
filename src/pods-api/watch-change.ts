// Decides what a change of a pod means for watchers. Pure. Upstream: the notifications in pkg/kubelet/status/status_manager.go.
// differs from upstream: a pod is announced as soon as it is assigned, and a change of its spec alone is announced too; upstream
// announces a pod with its first status and changes of its status only. A pod that is rejected gets its DELETED as well.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';

/** A pod as last announced. */
export interface AnnouncedPod {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** Its containers have stopped and its volumes are unmounted. It may still be assigned to this node. */
  readonly ended: boolean;
}

/** The stores at this moment. */
interface PodLevel {
  /** Undefined once no source has it. */
  readonly pod: Pod | undefined;
  readonly status: PodStatus | undefined;
  readonly lifecycle: PodLifecycle | undefined;
}

export type PodChange =
  | { readonly kind: 'none' }
  /** ADDED for watchers that do not know the pod, MODIFIED for the others. */
  | { readonly kind: 'present'; readonly now: AnnouncedPod }
  /** DELETED for watchers that know the pod. A watcher that connects later finds it in its initial list. */
  | { readonly kind: 'ended'; readonly now: AnnouncedPod }
  /** DELETED for watchers that still know the pod. */
  | { readonly kind: 'gone'; readonly now: AnnouncedPod };

export function computePodChange(before: AnnouncedPod | undefined, level: PodLevel): PodChange {
  const ended = hasEnded(level.lifecycle);
  if (level.pod === undefined) {
    if (before === undefined) return { kind: 'none' };
    if (!isAtWork(level.lifecycle)) return { kind: 'gone', now: before };
  }
  const pod = level.pod ?? before?.pod;
  if (pod === undefined) return { kind: 'none' };
  // A pod that its source has removed keeps its last status until its worker is done.
  const status = level.status ?? (level.pod === undefined ? before?.status : undefined);
  const now: AnnouncedPod = { pod, status, ended };
  if (before === undefined) return { kind: 'present', now };
  if (ended && !before.ended) return { kind: 'ended', now };
  const isSame = before.pod === pod && before.status === status && before.ended === ended;
  return isSame ? { kind: 'none' } : { kind: 'present', now };
}

export function hasEnded(lifecycle: PodLifecycle | undefined): boolean {
  return lifecycle?.state === 'terminated' && lifecycle.cleaned;
}

/** Whether containers or volumes of the pod may be left. */
function isAtWork(lifecycle: PodLifecycle | undefined): boolean {
  return lifecycle !== undefined && lifecycle.state !== 'rejected' && !hasEnded(lifecycle);
}
