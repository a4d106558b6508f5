// The interface between the topology manager and the managers that allocate resources of NUMA nodes: devices, CPUs, memory (in
// this order). Upstream: HintProvider in pkg/kubelet/cm/topologymanager, and pkg/kubelet/cm/admission.
// Invariant: every method is synchronous, so that one pod's allocation is atomic; what a device plugin has to do is done later, by
// the device manager's own `commit`.
import type { Container, Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { NumaMask } from './numa-nodes.ts';

export interface TopologyHint {
  /** Undefined if any NUMA node will do. */
  readonly mask: NumaMask | undefined;
  /** Whether this is the smallest possible set of nodes. */
  readonly preferred: boolean;
}

/**
 * The possible placements by resource. Undefined, or no entry at all: no preference. An empty list: the resource is not
 * available on any set of nodes.
 */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/**
 * The reasons by which a provider rejects a pod in its own words. An error with any other reason is unexpected: the pod is
 * rejected as UnexpectedAdmissionError.
 */
export const admissionErrorReasons: ReadonlySet<string> = new Set([
  'SMTAlignmentError',
  'TopologyAffinityError',
  'EmptyPodSharedPoolError',
]);

export interface HintProvider {
  readonly name: string;
  containerHints(pod: Pod, container: Container): ResourceHints;
  /** For the scope "pod": of the whole pod. */
  podHints(pod: Pod): ResourceHints;
  /**
   * Allocates what the container needs, on the NUMA nodes of the merged hint; keeps what the container already has. Throws a
   * KubeletError: its reason and message reject the pod if the reason is one of `admissionErrorReasons`.
   */
  allocate(pod: Pod, container: Container, hint: TopologyHint): void;
  /** Frees what the pod holds, if anything: it has ended, was removed or was rejected. Idempotent. */
  release(uid: PodUid): void;
  /** The pods that hold anything. */
  holders(): Iterable<PodUid>;
}
