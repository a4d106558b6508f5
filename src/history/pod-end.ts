// The end of a pod as a whole: what the ends of its containers do not explain. Pure.
import { fnv1a32 } from '../api/pod/fnv.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { killKind } from './describe-end.ts';
import { podEndId } from './end-record.ts';
import type { NotedEnd } from './noted-end.ts';

/** Undefined: the pod lives, or ended with its containers. */
export function podEnd(
  uid: PodUid,
  lifecycle: PodLifecycle | undefined,
): Pick<NotedEnd, 'id' | 'subject'> | undefined {
  if (lifecycle?.state === 'rejected') {
    const { message, reason } = lifecycle;
    // A static pod that is rejected again by the next kubelet is the same end.
    return { id: podEndId(uid, 'rejected', reason), subject: { is: 'rejection', reason, message } };
  }
  if (lifecycle?.state !== 'terminating' && lifecycle?.state !== 'terminated') return undefined;
  const { kill } = lifecycle;
  if (kill === undefined) return undefined;
  // A static pod can be evicted again under its UID. A pod keeps its start, to the second, when the kubelet restarts.
  const start = Math.floor(lifecycle.startedAtMs / 1000);
  const distinction = `${start}-${fnv1a32(`${kill.reason}: ${kill.message}`).toString(16)}`;
  return { id: podEndId(uid, killKind(kill), distinction), subject: { is: 'kill', kill } };
}
