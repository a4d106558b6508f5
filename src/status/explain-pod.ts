// One sentence on where a pod is and what it waits for, and since when. Pure. Upstream has nothing like it: there, a person
// reads events and logs.

import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';

interface ExplainInput {
  /** Undefined: nobody has looked at the pod yet. */
  readonly lifecycle: PodLifecycle | undefined;
  /** What goes on for it: pulls, mounts, hooks. */
  readonly activities: readonly PodActivity[];
  readonly nowMs: number;
}

interface Explanation {
  readonly explanation: string;
  /** Absent when nothing was begun. */
  readonly sinceMs?: number;
}

export function explainPod({ activities, lifecycle, nowMs }: ExplainInput): Explanation {
  const current = activities.toSorted((a, b) => a.sinceMs - b.sinceMs);
  const doing = current.map(({ what }) => what).join('; ');
  const [first] = current;
  switch (lifecycle?.state) {
    case undefined:
      return { explanation: 'nobody has worked on it yet' };
    case 'rejected':
      return {
        explanation: `refused: ${lifecycle.reason}: ${lifecycle.message}`,
        sinceMs: lifecycle.startedAtMs,
      };
    case 'terminated':
      return {
        explanation: lifecycle.cleaned ? 'ended' : 'ended; its volumes are being taken down',
        sinceMs: lifecycle.atMs,
      };
    case 'terminating':
      return { explanation: ending(lifecycle, doing, nowMs), sinceMs: lifecycle.sinceMs };
    case 'syncing':
      return first === undefined
        ? { explanation: lifecycle.explain, sinceMs: lifecycle.explainSinceMs }
        : { explanation: doing, sinceMs: first.sinceMs };
  }
}

function ending(
  { graceSeconds, sinceMs, why }: Extract<PodLifecycle, { state: 'terminating' }>,
  doing: string,
  nowMs: number,
): string {
  const leftSeconds = Math.max(0, Math.ceil((sinceMs + graceSeconds * 1000 - nowMs) / 1000));
  const grace = graceSeconds > 0 ? `, ${leftSeconds} of ${graceSeconds} s of grace left` : '';
  return `terminating: ${why}${grace}${doing === '' ? '' : `; ${doing}`}`;
}
