// Explains every pod for /explain: its state, what it is waiting for, and its recent events. Reads stores only.
// Invariant: a pod that is no longer desired is explained until its worker has finished with it.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { Clock } from '../base/clock.ts';
import { explainPod } from './explain-pod.ts';
import { explainReadiness } from './explain-readiness.ts';

interface PodName {
  readonly namespace?: string;
  readonly name?: string;
}

interface PodExplainerDeps<E> {
  readonly desired: {
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
    get(uid: PodUid): { readonly pod: Pod } | undefined;
  };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
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
    const current = this.#deps.activities.flatMap((source) => source.activities(uid));
    const { explanation, ...since } = this.#sentenceOf(uid, current);
    return { text: explanation, ...since, isActive: current.length > 0 };
  }

  #explainOne(uid: PodUid, { name = '', namespace = '' }: PodName): ExplainedPod<E> {
    const { activities, events } = this.#deps;
    const { explanation, sinceMs } = this.#sentenceOf(
      uid,
      activities.flatMap((source) => source.activities(uid)),
    );
    return {
      namespace,
      name,
      uid,
      explanation,
      ...(sinceMs === undefined ? {} : { since: new Date(sinceMs).toISOString() }),
      events: events.recent(uid),
    };
  }

  #sentenceOf(uid: PodUid, activities: readonly PodActivity[]): ReturnType<typeof explainPod> {
    const { clock, desired, lifecycles, statuses } = this.#deps;
    const pod = desired.get(uid)?.pod;
    return explainPod({
      lifecycle: lifecycles.all().get(uid),
      activities,
      readiness: pod && explainReadiness(pod, statuses.get(uid)),
      nowMs: clock.now(),
    });
  }
}
