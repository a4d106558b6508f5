// The API objects that pods of this node refer to. Types only; in a cluster, objects/ implements them over the API client, and
// a standalone node rejects every request. Errors are KubeletErrors: `not-found`, `forbidden`, or `unavailable` if the API
// server cannot be reached. Upstream: pkg/kubelet/{configmap,secret,token} and the service lister.
import type { Subscribable } from '../../base/channel.ts';
import type {
  ConfigMap,
  LabelSelector,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  TokenRequest,
} from '../k8s/types.ts';

export interface PodObjects {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;
  /** All services; waits, within the signal, for the first list. */
  services(signal: AbortSignal): Promise<readonly Service[]>;
  runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass>;
  /** Read from the API server on every call. */
  serviceAccount(namespace: string, name: string, signal: AbortSignal): Promise<ServiceAccount>;
  /** A token bound to the pod. Cached and renewed at 80 % of its lifetime. */
  serviceAccountToken(
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest>;
  persistentVolumeClaim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim>;
  persistentVolume(name: string, signal: AbortSignal): Promise<PersistentVolume>;
  /** The PEM certificates of the selected trust bundles; watched from the first call on. */
  trustAnchors(choice: TrustBundleChoice, signal: AbortSignal): Promise<string>;
  /** The last known state of this node's object. */
  node(signal: AbortSignal): Promise<Node>;
  /** Starts watching the objects that the pod refers to. Call it before they are needed, and on every change of the spec. */
  registerPod(pod: Pod): void;
  unregisterPod(pod: Pod): void;
  /** Announces referenced objects that were created, changed or deleted. */
  readonly changed: Subscribable<ChangedObject>;
}

/** `optional`: no match is not an error. */
export type TrustBundleChoice = { readonly optional: boolean } & (
  | { readonly name: string }
  | { readonly signerName: string; readonly labelSelector: LabelSelector | undefined }
);

export interface ChangedObject {
  /**
   * TrustBundleSigner: any trust bundle of the signer of this name. PodCertificate: any certificate of the pod whose UID is
   * the name.
   */
  readonly kind: 'ConfigMap' | 'Secret' | 'ClusterTrustBundle' | 'TrustBundleSigner' | 'PodCertificate';
  readonly namespace: string;
  readonly name: string;
}
