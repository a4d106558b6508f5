// What the command line and the configuration say about this node, as its object shows it.
import type { Taint } from '../api/k8s/types.ts';

export interface NodeSettings {
  readonly nodeName: string;
  /** The host's name or its override: the Hostname address and label. */
  readonly hostname: string;
  /** As Go names them: amd64, linux. */
  readonly architecture: string;
  readonly operatingSystem: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly providerID: string;
  /** --cloud-provider=external: addresses and the end of the initial taint come from elsewhere. */
  readonly externalCloudProvider: boolean;
  readonly controllerAttachDetach: boolean;
  readonly registerNode: boolean;
  /** --node-ip: none, one, or one of each family; 0.0.0.0 or :: prefers a family. */
  readonly nodeIps: readonly string[];
  readonly maxPods: number;
  /** 0: only maxPods counts. */
  readonly podsPerCore: number;
  readonly kubeletPort: number;
  readonly kubeletVersion: string;
  /** -1: all. */
  readonly maxImages: number;
  readonly localStorageIsolation: boolean;
}
