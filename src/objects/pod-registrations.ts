// Registers the objects of active pods, so that they are cached before the pods start, and unregisters them when the pods have
// terminated. Upstream: RegisterPod and UnregisterPod of pkg/kubelet/secret and pkg/kubelet/configmap, called by the pod manager.
// Invariant: a terminating pod stays registered, since hooks and restarts may still need its objects.
import type { Pod } from '../api/k8s/types.ts';
import { hasEnded, isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on } from '../base/component.ts';

interface PodRegistrationsDeps {
  readonly objects: Pick<PodObjects, 'registerPod' | 'unregisterPod'>;
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
}

export class PodRegistrations implements Component {
  readonly name = 'pod-registrations';
  readonly #deps: PodRegistrationsDeps;
  readonly #registered = new Map<PodUid, Pod>();

  constructor(deps: PodRegistrationsDeps) {
    this.#deps = deps;
  }

  get wakes() {
    const { desired, lifecycles } = this.#deps;
    const sync = (uid: PodUid): void => this.#sync(uid);
    return [on(desired.changed, sync), on(lifecycles.changed, sync)];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: untilAborted(signal) };
  }

  #sync(uid: PodUid): void {
    const { desired, lifecycles, objects } = this.#deps;
    const pod = desired.get(uid)?.pod;
    const lifecycle = lifecycles.get(uid);
    const registered = this.#registered.get(uid);
    if (pod !== undefined && isActivePod(pod, lifecycle)) {
      if (registered === pod) return;
      this.#registered.set(uid, pod);
      objects.registerPod(pod);
    } else if (registered !== undefined && (hasEnded(lifecycle) || lifecycle === undefined)) {
      this.#registered.delete(uid);
      objects.unregisterPod(registered);
    }
  }
}
