// Describes a pod's pending or unfinished resize for /explain. Pure.
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { ResizeConditions } from '../../api/ports/resize-conditions.ts';

export function explainResize({ inProgress, pending }: ResizeConditions = {}): readonly PodActivity[] {
  const state = pending?.reason === 'Deferred' ? 'is deferred' : 'is infeasible on this node';
  return [
    ...(pending === undefined
      ? []
      : [{ what: `its resize ${state}: ${pending.message}`, sinceMs: pending.sinceMs }]),
    ...(inProgress === undefined
      ? []
      : [{ what: `it is being resized${failure(inProgress.message)}`, sinceMs: inProgress.sinceMs }]),
  ];
}

function failure(message: string): string {
  return message === '' ? '' : `; the last attempt failed: ${message}`;
}
