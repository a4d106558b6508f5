// What the topology manager asks of those who give out something that lies on a NUMA node: CPUs, memory, devices. Types only.
// Upstream: HintProvider in pkg/kubelet/cm/topologymanager.
import type { Container, Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';

interface TopologyHint {
  /** Undefined: any NUMA node will do. */
  readonly numaNodes: readonly number[] | undefined;
  /** Whether this is as few nodes as it could be. */
  readonly preferred: boolean;
}

export interface HintProvider {
  readonly name: string;
  /** By resource: where it could come from; undefined: it does not matter. An empty list: it cannot be had. */
  hints(pod: Pod, container: Container): Readonly<Record<string, readonly TopologyHint[] | undefined>>;
  /** Takes what the container needs, at the place that was agreed on. Throws what admission tells when it cannot. */
  allocate(pod: Pod, container: Container): void;
  /** The pod is over, has gone or was not admitted after all: what it had, if anything, is free again. May be told twice. */
  release(uid: PodUid): void;
}
