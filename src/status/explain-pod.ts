// Explains in one sentence what a pod is waiting for, and since when. Pure. Upstream has no counterpart.

import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';

interface ExplainInput {
  /** Undefined: the pod has not been synced yet. */
  readonly lifecycle: PodLifecycle | undefined;
  /** In-flight operations: pulls, mounts, hooks. */
  readonly activities: readonly PodActivity[];
  /** Why it is not ready although its containers were started. */
  readonly readiness?: PodActivity | undefined;
  readonly nowMs: number;
}

interface Explanation {
  readonly explanation: string;
  /** Absent if nothing has started. */
  readonly sinceMs?: number;
}

export function explainPod({ activities, lifecycle, nowMs, readiness }: ExplainInput): Explanation {
  const current = activities.toSorted((a, b) => a.sinceMs - b.sinceMs);
  const doing = current.map(({ what }) => what).join('; ');
  const [first] = current;
  switch (lifecycle?.state) {
    case undefined:
      return { explanation: 'not synced yet' };
    case 'rejected':
      return {
        explanation: `rejected: ${lifecycle.reason}: ${lifecycle.message}`,
        sinceMs: lifecycle.startedAtMs,
      };
    case 'terminated':
      return {
        explanation: lifecycle.cleaned ? 'terminated' : `terminated; ${doing || 'unmounting its volumes'}`,
        sinceMs: lifecycle.atMs,
      };
    case 'terminating':
      return { explanation: explainTermination(lifecycle, doing, nowMs), sinceMs: lifecycle.sinceMs };
    case 'syncing':
      if (first !== undefined) return { explanation: doing, sinceMs: first.sinceMs };
      return readiness === undefined || Object.keys(lifecycle.waiting).length > 0
        ? { explanation: lifecycle.explain, sinceMs: lifecycle.explainSinceMs }
        : { explanation: readiness.what, sinceMs: readiness.sinceMs };
  }
}

function explainTermination(
  { graceSeconds, sinceMs, why }: Extract<PodLifecycle, { state: 'terminating' }>,
  doing: string,
  nowMs: number,
): string {
  const leftSeconds = Math.max(0, Math.ceil((sinceMs + graceSeconds * 1000 - nowMs) / 1000));
  const grace = graceSeconds > 0 ? `, ${leftSeconds} of ${graceSeconds} s of grace left` : '';
  return `terminating: ${why}${grace}${doing === '' ? '' : `; ${doing}`}`;
}
