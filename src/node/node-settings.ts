// The settings of the Node object from flags and configuration. Pure.

import type { Taint } from '../api/k8s/types.ts';
import { type DeclarableFeature, declaredFeatures } from './declared-features.ts';

export interface NodeSettings {
  readonly nodeName: string;
  /** The host name or its override: the Hostname address and label. */
  readonly hostname: string;
  /** Go's names: amd64, linux. */
  readonly architecture: string;
  readonly operatingSystem: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly providerID: string;
  /** --cloud-provider=external: the cloud controller manager sets the addresses and removes the initial taint. */
  readonly externalCloudProvider: boolean;
  readonly controllerAttachDetach: boolean;
  readonly registerNode: boolean;
  /** --node-ip: none, one, or one of each family; 0.0.0.0 or :: prefers a family. */
  readonly nodeIps: readonly string[];
  readonly maxPods: number;
  /** 0: only maxPods applies. */
  readonly podsPerCore: number;
  readonly kubeletPort: number;
  readonly kubeletVersion: string;
  /** -1: all. */
  readonly maxImages: number;
  readonly localStorageIsolation: boolean;
  /** Sorted by name. */
  readonly declaredFeatures: readonly string[];
  /** Whether the node reports that it runs in a user namespace. */
  readonly reportsUserNamespace: boolean;
  /** Whether a forbidden registration fails, instead of adopting a Node object that exists. */
  readonly getsOnExistsOnly: boolean;
}

interface NodeSettingsInput {
  readonly config: {
    readonly registerWithTaints: readonly {
      readonly key: string;
      readonly value: string;
      readonly effect: string;
      readonly timeAdded?: string | undefined;
    }[];
    readonly providerID: string;
    readonly enableControllerAttachDetach: boolean;
    readonly registerNode: boolean;
    readonly maxPods: number;
    readonly podsPerCore: number;
    readonly port: number;
    readonly nodeStatusMaxImages: number;
    readonly localStorageCapacityIsolation: boolean;
  };
  readonly flags: { readonly nodeLabels: Readonly<Record<string, string>>; readonly cloudProvider: string };
  readonly nodeName: string;
  readonly nodeIps: readonly string[];
  readonly architecture: string;
  readonly kubeletVersion: string;
  readonly gates: Readonly<
    Record<DeclarableFeature | 'KubeletInUserNamespace' | 'KubeletRegistrationGetOnExistsOnly', boolean>
  >;
}

/** The settings that may change while the kubelet runs are read from the configuration each time. */
export function nodeSettings(input: NodeSettingsInput): NodeSettings {
  const { architecture, config, flags, gates, kubeletVersion, nodeIps, nodeName } = input;
  return {
    nodeName,
    hostname: nodeName,
    architecture,
    operatingSystem: 'linux',
    labels: flags.nodeLabels,
    taints: config.registerWithTaints.map(({ key, value, effect, timeAdded }) => ({
      key,
      ...(value === '' ? {} : { value }),
      effect,
      ...(timeAdded === undefined ? {} : { timeAdded }),
    })),
    providerID: config.providerID,
    externalCloudProvider: flags.cloudProvider === 'external',
    controllerAttachDetach: config.enableControllerAttachDetach,
    registerNode: config.registerNode,
    nodeIps,
    get maxPods() {
      return config.maxPods;
    },
    podsPerCore: config.podsPerCore,
    kubeletPort: config.port,
    kubeletVersion,
    get maxImages() {
      return config.nodeStatusMaxImages;
    },
    localStorageIsolation: config.localStorageCapacityIsolation,
    declaredFeatures: declaredFeatures(gates),
    reportsUserNamespace: gates.KubeletInUserNamespace,
    getsOnExistsOnly: gates.KubeletRegistrationGetOnExistsOnly,
  };
}
