// The desired pods with their allocated resources, for workers, status and admission. A view without state.
// Upstream: UpdatePod in pkg/kubelet/pod_workers.go and getAllocatedPods in kubelet_pods.go.
import type { Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { mergeChannels, type Subscribable } from '../../base/channel.ts';
import type { Allocations } from './allocations.ts';

interface DesiredPod {
  readonly uid: PodUid;
  readonly pod: Pod;
}

export interface DesiredPodsView<D extends DesiredPod> {
  get(uid: PodUid): D | undefined;
  all(): readonly D[];
  sourcesReady(): boolean;
  readonly changed: Subscribable<PodUid>;
  readonly ready: Subscribable<void>;
}

export function allocatedView<D extends DesiredPod>(
  desired: DesiredPodsView<D>,
  allocations: Pick<Allocations, 'podOf' | 'changed'>,
): DesiredPodsView<D> {
  const view = (requested: D): D => {
    const pod = allocations.podOf(requested.pod);
    return pod === requested.pod ? requested : { ...requested, pod };
  };
  return {
    get: (uid) => {
      const requested = desired.get(uid);
      return requested === undefined ? undefined : view(requested);
    },
    all: () => desired.all().map(view),
    sourcesReady: () => desired.sourcesReady(),
    changed: mergeChannels(desired.changed, allocations.changed),
    ready: desired.ready,
  };
}
