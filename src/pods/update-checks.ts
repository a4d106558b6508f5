// Reports updates of pods that require a feature which the node does not declare. The update itself is not refused.
// Upstream: HandlePodUpdates in pkg/kubelet/kubelet.go.
import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podRef } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { updateProblem } from './admission/required-features.ts';

interface UpdateChecksDeps {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  /** The features that the node declares. */
  readonly declared: readonly string[];
  readonly events: Pick<EventSink, 'pod'>;
  readonly log: Logger;
}

export class UpdateChecks implements Component {
  readonly name = 'update-checks';
  readonly #deps: UpdateChecksDeps;
  readonly #last = new Map<PodUid, Pod>();

  constructor(deps: UpdateChecksDeps) {
    this.#deps = deps;
  }

  get wakes() {
    return [on(this.#deps.desired.changed, (uid) => this.#check(uid))];
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return Promise.resolve({ stopped: untilAborted(signal) });
  }

  #check(uid: PodUid): void {
    const { declared, desired, events, log } = this.#deps;
    const pod = desired.get(uid)?.pod;
    const before = this.#last.get(uid);
    if (pod === undefined) this.#last.delete(uid);
    else this.#last.set(uid, pod);
    if (pod === undefined || before === undefined || before === pod) return;
    const message = updateProblem(before, pod, declared);
    if (message === undefined) return;
    log.error('Pod update requires node features that are not available', {
      pod: podRef(pod),
      podUID: uid,
      problem: message,
    });
    events.pod(pod, { type: 'Warning', reason: 'FailedNodeDeclaredFeaturesCheck', message });
  }
}
