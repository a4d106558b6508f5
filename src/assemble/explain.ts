// Puts together what is told of every pod: one sentence on where it is, and what was last said about it.
import type { Pod } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { Clock } from '../base/clock.ts';
import { InFlight } from '../base/in-flight.ts';
import type { PastEvent } from '../events/event-history.ts';
import { explainPod } from '../status/explain-pod.ts';

interface PodName {
  readonly namespace?: string;
  readonly name?: string;
}

type ActivitySource = InFlight<PodActivity> | { activities(uid: PodUid): readonly PodActivity[] };

interface ExplainInput {
  readonly desired: { all(): readonly { readonly uid: PodUid; readonly pod: Pod }[] };
  readonly lifecycles: { all(): ReadonlyMap<PodUid, PodLifecycle> };
  readonly observed: { get(uid: PodUid): { readonly namespace: string; readonly name: string } | undefined };
  readonly events: { recent(uid: string): readonly PastEvent[] };
  readonly activities: readonly ActivitySource[];
  readonly clock: Pick<Clock, 'now'>;
}

interface ExplainedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
  readonly explanation: string;
  readonly since?: string;
  readonly events: readonly PastEvent[];
}

export function explainPods(input: ExplainInput): { readonly pods: readonly ExplainedPod[] } {
  const { activities, clock, desired, events, lifecycles, observed } = input;
  const nowMs = clock.now();
  const names = new Map<PodUid, PodName>(desired.all().map(({ uid, pod }) => [uid, pod.metadata ?? {}]));
  // One that is wanted no more is told of until it has gone.
  for (const uid of lifecycles.all().keys()) if (!names.has(uid)) names.set(uid, observed.get(uid) ?? {});
  const pods = [...names].map(([uid, { name = '', namespace = '' }]) => {
    const { explanation, sinceMs } = explainPod({
      lifecycle: lifecycles.all().get(uid),
      activities: activities.flatMap((source) =>
        source instanceof InFlight ? source.of(uid) : source.activities(uid),
      ),
      nowMs,
    });
    return {
      namespace,
      name,
      uid,
      explanation,
      ...(sinceMs === undefined ? {} : { since: new Date(sinceMs).toISOString() }),
      events: events.recent(uid),
    };
  });
  return { pods };
}
