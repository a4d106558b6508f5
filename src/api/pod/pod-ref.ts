// Names for pods and containers: branded identifiers and the spellings that logs, labels and paths use.
// Invariant: a PodUid, SandboxId or ContainerId is only made here, so a plain string cannot slip in where an identity is meant.
// Upstream: pkg/kubelet/container (GetPodFullName, ContainerID) and k8s.io/klog's object references.
import type { ObjectMeta } from '../k8s/types.ts';

declare const podUidBrand: unique symbol;
declare const sandboxIdBrand: unique symbol;
declare const containerIdBrand: unique symbol;

/** The identity of one pod object. For a static pod the kubelet's own, not the mirror pod's. */
export type PodUid = string & { readonly [podUidBrand]: true };

/** The runtime's identity of one pod sandbox. */
export type SandboxId = string & { readonly [sandboxIdBrand]: true };

/** The runtime's identity of one container, without a `containerd://` scheme. */
export type ContainerId = string & { readonly [containerIdBrand]: true };

interface PodLike {
  readonly metadata?: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>;
}

export function asPodUid(text: string): PodUid {
  return text as PodUid;
}

export function asSandboxId(text: string): SandboxId {
  return text as SandboxId;
}

export function asContainerId(text: string): ContainerId {
  return text as ContainerId;
}

/** The pod's UID; empty while the object has none. */
export function podUid(pod: PodLike): PodUid {
  return asPodUid(pod.metadata?.uid ?? '');
}

/** `namespace/name`, the way logs and messages name a pod. Without a namespace only the name. */
export function podRef(pod: PodLike): string {
  const name = pod.metadata?.name ?? '';
  const namespace = pod.metadata?.namespace ?? '';
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** `name_namespace`: unique among the pods of a node at one time, and stable across a static pod's rebirths. */
export function podFullName(pod: PodLike): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}`;
}

/** `containerd://<id>`: a container's identity as the pod's status shows it. */
export function formatContainerId(runtime: string, id: ContainerId): string {
  return `${runtime}://${id}`;
}

/** Takes `containerd://<id>` apart; undefined when the text has another shape. */
export function parseContainerId(text: string): { runtime: string; id: ContainerId } | undefined {
  const unquoted = text.replace(/^"|"$/g, '');
  const at = unquoted.indexOf('://');
  if (at <= 0 || at + 3 === unquoted.length) return undefined;
  return { runtime: unquoted.slice(0, at), id: asContainerId(unquoted.slice(at + 3)) };
}
