// Identifiers of pods and containers: branded types, and their forms in logs, labels and paths.
// Invariant: a PodUid, SandboxId or ContainerId is created only here, so that a plain string cannot pass for one.
// Upstream: pkg/kubelet/container (GetPodFullName, ContainerID) and k8s.io/klog's object references.
import type { ObjectMeta } from '../k8s/types.ts';

declare const podUidBrand: unique symbol;
declare const sandboxIdBrand: unique symbol;
declare const containerIdBrand: unique symbol;

/** The UID of a pod. For a static pod it is the kubelet's own, not the mirror pod's. */
export type PodUid = string & { readonly [podUidBrand]: true };

/** The runtime's ID of a pod sandbox. */
export type SandboxId = string & { readonly [sandboxIdBrand]: true };

/** The runtime's ID of a container, without a `containerd://` scheme. */
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

/** The pod's UID; empty if the object has none yet. */
export function podUid(pod: PodLike): PodUid {
  return asPodUid(pod.metadata?.uid ?? '');
}

/** `namespace/name`, as in logs and messages; only the name without a namespace. */
export function podRef(pod: PodLike): string {
  const name = pod.metadata?.name ?? '';
  const namespace = pod.metadata?.namespace ?? '';
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** `name_namespace`: unique on a node at any time, and stable when a static pod is recreated. */
export function podFullName(pod: PodLike): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}`;
}

/** `containerd://<id>`, the containerID of a container status. */
export function formatContainerId(runtime: string, id: ContainerId): string {
  return `${runtime}://${id}`;
}

/** Parses `containerd://<id>`; undefined for any other form. */
export function parseContainerId(text: string): { runtime: string; id: ContainerId } | undefined {
  const unquoted = text.replace(/^"|"$/g, '');
  const at = unquoted.indexOf('://');
  if (at <= 0 || at + 3 === unquoted.length) return undefined;
  return { runtime: unquoted.slice(0, at), id: asContainerId(unquoted.slice(at + 3)) };
}
