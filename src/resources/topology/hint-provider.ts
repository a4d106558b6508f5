// The interface between the topology manager and the managers that allocate resources of NUMA nodes: CPUs, memory, devices.
// Types only. Upstream: HintProvider in pkg/kubelet/cm/topologymanager.
import type { Container, Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';

interface TopologyHint {
  /** Undefined if any NUMA node will do. */
  readonly numaNodes: readonly number[] | undefined;
  /** Whether this is the smallest possible set of nodes. */
  readonly preferred: boolean;
}

export interface HintProvider {
  readonly name: string;
  /** The possible placements by resource. Undefined: no preference. An empty list: the resource is not available. */
  hints(pod: Pod, container: Container): Readonly<Record<string, readonly TopologyHint[] | undefined>>;
  /** Allocates what the container needs, on the NUMA nodes of the merged hint. Throws the error to reject the pod with. */
  allocate(pod: Pod, container: Container): void;
  /** Frees what the pod holds, if anything: it has ended, was removed or was rejected. Idempotent. */
  release(uid: PodUid): void;
}
