// What was found out about this node at one moment. Data only; gathered by the composition root, shown by generate-node.
import type { NodeFeatures, NodeRuntimeHandler } from '../api/k8s/types.ts';
import type { ResourceAmounts } from '../api/quantity/resource-amounts.ts';

export interface NodeIdentity {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** 0 without swap. */
  readonly swapBytes: number;
}

/** Where the node can be reached, as far as its own host knows. */
export interface NodeNetwork {
  /** Of all interfaces. */
  readonly hostAddresses: readonly string[];
  /** What the node's name resolves to. */
  readonly nameAddresses: readonly string[];
  /** Of the interface that the default route leaves by, the IPv4 one first. */
  readonly defaultAddresses: readonly string[];
}

/** What this machine has and what of it is kept from pods. Issue 9's managers say more than the machine alone. */
export interface NodeResources {
  /** cpu, memory, ephemeral-storage, hugepages-*; how many pods is the node's own arithmetic. */
  capacity(): ResourceAmounts;
  /** kubeReserved, systemReserved, hard eviction thresholds. */
  reservation(): ResourceAmounts;
  /** Device plugins: what they offer, what of it is healthy, and what none offers any more. */
  devices?(): {
    readonly capacity: ResourceAmounts;
    readonly allocatable: ResourceAmounts;
    readonly removed: readonly string[];
  };
  /** The node was made anew under its devices: extended resources count as zero until their plugins come back. */
  resetExtendedResources?(): boolean;
}

export interface NodeImage {
  readonly digests: readonly string[];
  readonly tags: readonly string[];
  readonly sizeBytes: number;
}

export interface NodePressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface NodeFacts {
  readonly identity: NodeIdentity;
  readonly network: NodeNetwork;
  readonly resources: NodeResources;
  /** Undefined while the runtime has not said. */
  readonly runtime: { readonly name: string; readonly version: string } | undefined;
  /** Undefined when they could not be listed: what was told stands. */
  readonly images: readonly NodeImage[] | undefined;
  readonly runtimeHandlers: readonly NodeRuntimeHandler[];
  readonly features: NodeFeatures | undefined;
  /** Why the node is not ready: runtime, network, storage, shutdown, in this order. */
  readonly problems: readonly string[];
  readonly pressure: NodePressure;
  /** Undefined until the volumes of an earlier life are known. */
  readonly volumesInUse: readonly string[] | undefined;
}
