// The cluster's objects that pods of this node refer to, as features ask for them. Types only; the way there is plugged in
// by the composition root: managers over the API server in a cluster, a refusal on a node without one.
// Upstream: pkg/kubelet/{configmap,secret,token} and the service lister. Errors are KubeletErrors: `not-found` when the
// object is not there, `forbidden`, `unavailable` when the API server is away.
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
  /** All services the node knows of; waits, within the signal, until they were listed once. */
  services(signal: AbortSignal): Promise<readonly Service[]>;
  runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass>;
  /** As it is now; nobody needs it often enough to keep it. */
  serviceAccount(namespace: string, name: string, signal: AbortSignal): Promise<ServiceAccount>;
  /** A token bound to the pod; kept and renewed at 80 % of its life, so asking again is cheap. */
  serviceAccountToken(
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest>;
  persistentVolumeClaim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim>;
  persistentVolume(name: string, signal: AbortSignal): Promise<PersistentVolume>;
  /** The certificates of the cluster's trust bundles that are chosen, in PEM; followed from the first call on. */
  trustAnchors(choice: TrustBundleChoice, signal: AbortSignal): Promise<string>;
  /** This node's own object as it was last seen. */
  node(signal: AbortSignal): Promise<Node>;
  /** Told before the pod's objects are needed, and again when its spec changes: what it refers to is watched from then on. */
  registerPod(pod: Pod): void;
  unregisterPod(pod: Pod): void;
  /** Announces what changed, was made or has gone, of that to which pods refer. */
  readonly changed: Subscribable<ChangedObject>;
}

/** `optional`: none is fine, too. */
export type TrustBundleChoice = { readonly optional: boolean } & (
  | { readonly name: string }
  | { readonly signerName: string; readonly labelSelector: LabelSelector | undefined }
);

export interface ChangedObject {
  /** TrustBundleSigner: one of the trust bundles of the signer of that name. */
  readonly kind: 'ConfigMap' | 'Secret' | 'ClusterTrustBundle' | 'TrustBundleSigner';
  readonly namespace: string;
  readonly name: string;
}
