// The pods that count against the node: desired, and not terminated. Upstream: GetActivePods in pkg/kubelet/kubelet_pods.go.
// A stateless view; isActivePod of api/pod decides which pods count.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { mergeChannels, type Subscribable } from '../base/channel.ts';

interface ActivePodsDeps {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
    readonly changed: Subscribable<PodUid>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
}

export class ActivePods {
  readonly changed: Subscribable<PodUid>;
  readonly #deps: ActivePodsDeps;

  constructor(deps: ActivePodsDeps) {
    this.#deps = deps;
    this.changed = mergeChannels(deps.desired.changed, deps.lifecycles.changed);
  }

  has(uid: PodUid): boolean {
    const { desired, lifecycles } = this.#deps;
    const pod = desired.get(uid)?.pod;
    return pod !== undefined && isActivePod(pod, lifecycles.get(uid));
  }

  all(): readonly Pod[] {
    const { desired, lifecycles } = this.#deps;
    return desired.all().flatMap(({ uid, pod }) => (isActivePod(pod, lifecycles.get(uid)) ? [pod] : []));
  }

  /** With the status this kubelet generated, which the pod from its source does not have yet. */
  withStatuses(): readonly Pod[] {
    const { desired, lifecycles, statuses } = this.#deps;
    return desired.all().flatMap(({ uid, pod }) => {
      if (!isActivePod(pod, lifecycles.get(uid))) return [];
      const status = statuses.get(uid);
      return [status === undefined ? pod : { ...pod, status }];
    });
  }
}
