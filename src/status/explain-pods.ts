// Explains every pod for /explain: its state, what it is waiting for, and its recent events. Reads stores only.
// Invariant: a pod that is no longer desired is explained until its worker has finished with it.
import type { Pod } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { Clock } from '../base/clock.ts';
import { explainPod } from './explain-pod.ts';

interface PodName {
  readonly namespace?: string;
  readonly name?: string;
}

interface PodExplainerDeps<E> {
  readonly desired: { all(): readonly { readonly uid: PodUid; readonly pod: Pod }[] };
  readonly lifecycles: { all(): ReadonlyMap<PodUid, PodLifecycle> };
  readonly observed: { get(uid: PodUid): { readonly namespace: string; readonly name: string } | undefined };
  readonly events: { recent(uid: string): readonly E[] };
  /** The components that report in-flight operations. */
  readonly activities: readonly { activities(uid: PodUid): readonly PodActivity[] }[];
  readonly clock: Pick<Clock, 'now'>;
}

interface ExplainedPod<E> {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
  readonly explanation: string;
  readonly since?: string;
  readonly events: readonly E[];
}

export class PodExplainer<E> {
  readonly #deps: PodExplainerDeps<E>;

  constructor(deps: PodExplainerDeps<E>) {
    this.#deps = deps;
  }

  explain(): { readonly pods: readonly ExplainedPod<E>[] } {
    const { desired, lifecycles, observed } = this.#deps;
    const names = new Map<PodUid, PodName>(desired.all().map(({ uid, pod }) => [uid, pod.metadata ?? {}]));
    for (const uid of lifecycles.all().keys()) if (!names.has(uid)) names.set(uid, observed.get(uid) ?? {});
    return { pods: [...names].map(([uid, name]) => this.#explainOne(uid, name)) };
  }

  /** One pod, without its events. `isActive`: an operation is in flight, so that the sentence may change by itself. */
  sentence(uid: PodUid): { readonly text: string; readonly sinceMs?: number; readonly isActive: boolean } {
    const { activities, clock, lifecycles } = this.#deps;
    const current = activities.flatMap((source) => source.activities(uid));
    const { explanation, ...since } = explainPod({
      lifecycle: lifecycles.all().get(uid),
      activities: current,
      nowMs: clock.now(),
    });
    return { text: explanation, ...since, isActive: current.length > 0 };
  }

  #explainOne(uid: PodUid, { name = '', namespace = '' }: PodName): ExplainedPod<E> {
    const { activities, clock, events, lifecycles } = this.#deps;
    const { explanation, sinceMs } = explainPod({
      lifecycle: lifecycles.all().get(uid),
      activities: activities.flatMap((source) => source.activities(uid)),
      nowMs: clock.now(),
    });
    return {
      namespace,
      name,
      uid,
      explanation,
      ...(sinceMs === undefined ? {} : { since: new Date(sinceMs).toISOString() }),
      events: events.recent(uid),
    };
  }
}
