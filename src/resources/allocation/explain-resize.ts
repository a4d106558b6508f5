// What a person is told of a pod's resize that is not done. Pure.
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { ResizeConditions } from '../../api/ports/resize-conditions.ts';

export function explainResize({ inProgress, pending }: ResizeConditions = {}): readonly PodActivity[] {
  const waits = pending?.reason === 'Deferred' ? 'waits' : 'cannot be granted on this node';
  return [
    ...(pending === undefined
      ? []
      : [{ what: `its resize ${waits}: ${pending.message}`, sinceMs: pending.sinceMs }]),
    ...(inProgress === undefined
      ? []
      : [{ what: `it is being resized${failure(inProgress.message)}`, sinceMs: inProgress.sinceMs }]),
  ];
}

function failure(message: string): string {
  return message === '' ? '' : `; the last attempt failed: ${message}`;
}
