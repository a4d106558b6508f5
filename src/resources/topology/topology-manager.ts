// Allocates the resources of a pod's containers from every hint provider at admission. Upstream:
// pkg/kubelet/cm/topologymanager, scope_none.go. Holds no state. Invariant: a rejected or ended pod holds nothing.
// Hints are not merged yet: no provider returns any, and without hints every upstream policy admits every pod.
import type { Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import type { Subscribable } from '../../base/channel.ts';
import { type Component, on, reaction } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { HintProvider } from './hint-provider.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

interface PodEnds {
  readonly changed: Subscribable<PodUid>;
  get(uid: PodUid): PodLifecycle | undefined;
}

const noPreference = { mask: undefined, preferred: true };

export class TopologyManager {
  readonly #providers: readonly HintProvider[];

  constructor(providers: readonly HintProvider[]) {
    this.#providers = providers;
  }

  /** Releases the resources of a pod when it has ended or was removed. */
  follow(lifecycles: PodEnds): Component {
    return reaction('topology-manager', [
      on(lifecycles.changed, (uid) => {
        const state = lifecycles.get(uid)?.state;
        if (state !== 'syncing' && state !== 'terminating') this.#release(uid);
      }),
    ]);
  }

  /** Undefined if the pod is admitted. */
  admit(pod: Pod): Rejection | undefined {
    try {
      for (const container of initAndRegularContainers(pod))
        for (const provider of this.#providers) provider.allocate(pod, container, noPreference);
      return undefined;
    } catch (err) {
      this.#release(podUid(pod));
      const reason = err instanceof KubeletError ? err.reason : 'UnexpectedAdmissionError';
      return { reason, message: `Allocate failed due to ${describeError(err)}, which is unexpected` };
    }
  }

  #release(uid: PodUid): void {
    for (const provider of this.#providers) provider.release(uid);
  }
}
