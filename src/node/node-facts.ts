// The facts about this node at one moment. Types only. Gathered by gather-node-facts.ts, reported by generate-node.ts.
import type { NodeFeatures, NodeRuntimeHandler } from '../api/k8s/types.ts';
import type { ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import type { Subscribable } from '../base/channel.ts';

export interface NodeIdentity {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** 0 without swap. */
  readonly swapBytes: number;
  /** Whether the kubelet runs in a user namespace other than the initial one. */
  readonly inUserNamespace: boolean;
}

/** The node's addresses as its host reports them. */
export interface NodeNetwork {
  /** Of all interfaces. */
  readonly hostAddresses: readonly string[];
  /** The addresses that the node's name resolves to. */
  readonly nameAddresses: readonly string[];
  /** Of the default route's interface, IPv4 first. */
  readonly defaultAddresses: readonly string[];
}

/** The machine's resources and the reservations. */
export interface NodeResources {
  /** cpu, memory, ephemeral-storage, hugepages-*; without pods, which node-capacity.ts computes. */
  capacity(): ResourceAmounts;
  /** kubeReserved, systemReserved, hard eviction thresholds. */
  reservation(): ResourceAmounts;
  /** Of device plugins: all devices, the healthy ones, and resources that no plugin advertises any more. */
  devices?(): {
    readonly capacity: ResourceAmounts;
    readonly allocatable: ResourceAmounts;
    readonly removed: readonly string[];
  };
  /** Announced when `devices` changes. */
  readonly devicesChanged?: Subscribable<void>;
  /** True if the machine was recreated: extended resources are zero until their plugins register again. */
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
  /** Undefined until the runtime has reported its version. */
  readonly runtime: { readonly name: string; readonly version: string } | undefined;
  /** Undefined if listing failed: the reported images stay. */
  readonly images: readonly NodeImage[] | undefined;
  readonly runtimeHandlers: readonly NodeRuntimeHandler[];
  readonly features: NodeFeatures | undefined;
  /** Why the node is not ready: runtime, network, storage, shutdown, in this order. */
  readonly problems: readonly string[];
  /** Why the node is not ready yet; without effect on a node that was reported Ready since it booted. */
  readonly startupProblems: readonly string[];
  readonly pressure: NodePressure;
  /** Undefined until the volumes that an earlier process mounted are known. */
  readonly volumesInUse: readonly string[] | undefined;
}
