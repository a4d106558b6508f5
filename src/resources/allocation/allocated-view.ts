// The wanted pods as those see them who run, count and tell them: with what they were allocated. A view, no store.
// Upstream: UpdatePod in pkg/kubelet/pod_workers.go and getAllocatedPods in kubelet_pods.go.
import type { Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { mergeChannels, type Subscribable } from '../../base/channel.ts';
import type { Allocations } from './allocations.ts';

interface Wanted {
  readonly uid: PodUid;
  readonly pod: Pod;
}

export interface WantedPods<W extends Wanted> {
  get(uid: PodUid): W | undefined;
  all(): readonly W[];
  sourcesReady(): boolean;
  readonly changed: Subscribable<PodUid>;
  readonly ready: Subscribable<void>;
}

export function allocatedView<W extends Wanted>(
  desired: WantedPods<W>,
  allocations: Pick<Allocations, 'podOf' | 'changed'>,
): WantedPods<W> {
  const view = (wanted: W): W => {
    const pod = allocations.podOf(wanted.pod);
    return pod === wanted.pod ? wanted : { ...wanted, pod };
  };
  return {
    get: (uid) => {
      const wanted = desired.get(uid);
      return wanted === undefined ? undefined : view(wanted);
    },
    all: () => desired.all().map(view),
    sourcesReady: () => desired.sourcesReady(),
    changed: mergeChannels(desired.changed, allocations.changed),
    ready: desired.ready,
  };
}
