// Detects that a pod's effective requests have shrunk: the larger of its allocation and of what its containers still have.
// Upstream: the resize retry in HandlePodReconcile of pkg/kubelet/kubelet.go. Keeps the last amounts of each pod.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { podRequests } from '../../api/pod/resources.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

interface PodUsageStores {
  readonly desired: { get(uid: PodUid): { readonly pod: Pod } | undefined };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly allocations: { podOf(pod: Pod): Pod };
}

export class PodUsage {
  readonly #stores: PodUsageStores;
  readonly #skipPodLevelResources: boolean;
  readonly #last = new Map<PodUid, ResourceAmounts>();

  constructor(stores: PodUsageStores, rules: { readonly podLevelResources: boolean }) {
    this.#stores = stores;
    this.#skipPodLevelResources = !rules.podLevelResources;
  }

  /** Whether CPU or memory has decreased since the last call for this pod. */
  hasShrunk(uid: PodUid): boolean {
    const { allocations, desired, statuses } = this.#stores;
    const pod = desired.get(uid)?.pod;
    const status = statuses.get(uid);
    const before = this.#last.get(uid);
    if (pod === undefined || status === undefined) {
      this.#last.delete(uid);
      return false;
    }
    const now = podRequests(
      { ...allocations.podOf(pod), status },
      { useStatusResources: true, skipPodLevelResources: this.#skipPodLevelResources },
    );
    this.#last.set(uid, now);
    if (before === undefined) return false;
    return ['cpu', 'memory'].some((name) => amountOf(now, name).cmp(amountOf(before, name)) < 0);
  }
}
