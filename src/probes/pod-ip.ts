// The address at which the kubelet probes a pod. Upstream: w.status.PodIP in pkg/kubelet/prober/worker.go.
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { computePodAddresses } from '../api/pod/pod-ips.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';

interface PodIpDeps {
  readonly desired: { get(uid: PodUid): { readonly pod: Pod } | undefined };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  /** The node's addresses, which are those of its host-network pods. */
  readonly nodeIps: () => readonly string[];
}

/** Returns the function that looks up a pod's present address; undefined while it has none. */
export function podIpLookup({ desired, nodeIps, observed }: PodIpDeps): (uid: PodUid) => string | undefined {
  return (uid) => {
    const hostNetwork = desired.get(uid)?.pod.spec?.hostNetwork === true;
    return computePodAddresses(observed.get(uid), hostNetwork, nodeIps(), {}).podIP;
  };
}
