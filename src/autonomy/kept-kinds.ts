// Which API objects are kept, by the request that reads them. Pure.
// Invariant: anything that is not listed here is never answered from disk; a stale VolumeAttachment mounts the wrong device.
import { isObject } from '../base/guards.ts';

/** Collections that are watched as a whole. */
export type KeptCollection = 'pods' | WatchedCollection;

/** Those that are written as one record. */
export type WatchedCollection = 'nodes' | 'services' | 'runtimeclasses' | 'csidrivers';

/** Single objects, read by name. `tokens`: of service accounts, bound to a pod. */
export type ObjectKind =
  | 'configmaps'
  | 'secrets'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'serviceaccounts'
  | 'tokens';

export interface ObjectRef {
  readonly kind: ObjectKind;
  /** Identifies the object among those of its kind: `namespace/name`, of a token what was requested. */
  readonly key: string;
}

/** Kinds whose records are encrypted, or not kept at all. */
export const secretKinds: readonly ObjectKind[] = ['secrets', 'tokens'];

const collections: Readonly<Record<string, KeptCollection>> = {
  '/api/v1/pods': 'pods',
  '/api/v1/nodes': 'nodes',
  '/api/v1/services': 'services',
  '/apis/node.k8s.io/v1/runtimeclasses': 'runtimeclasses',
  '/apis/storage.k8s.io/v1/csidrivers': 'csidrivers',
};

const namespaced: Readonly<Record<string, ObjectKind>> = {
  configmaps: 'configmaps',
  secrets: 'secrets',
  persistentvolumeclaims: 'persistentvolumeclaims',
  serviceaccounts: 'serviceaccounts',
};

const byName = 'metadata.name=';

export function collectionOf(path: string): KeptCollection | undefined {
  return Object.hasOwn(collections, path) ? collections[path] : undefined;
}

/** The object that a GET of this path reads. */
export function objectAt(path: string): ObjectRef | undefined {
  const [empty, api, v1, ...rest] = path.split('/').map(decodeURIComponent);
  if (empty !== '' || api !== 'api' || v1 !== 'v1') return undefined;
  const [first, second, third, fourth, ...more] = rest;
  if (first === 'persistentvolumes' && second !== undefined && third === undefined)
    return { kind: 'persistentvolumes', key: second };
  if (first !== 'namespaces' || second === undefined || third === undefined || fourth === undefined)
    return undefined;
  if (more.length > 0 || !Object.hasOwn(namespaced, third)) return undefined;
  const kind = namespaced[third];
  return kind && { kind, key: `${second}/${fourth}` };
}

/** The object that a watch of one object by its name reads. */
export function watchedObject(path: string, fieldSelector: string | undefined): ObjectRef | undefined {
  if (fieldSelector?.startsWith(byName) !== true) return undefined;
  return objectAt(`${path}/${encodeURIComponent(fieldSelector.slice(byName.length))}`);
}

/** Of `/api/v1/namespaces/{namespace}/pods/{name}/status`. */
export function isPodStatus(path: string): boolean {
  const [, , , namespaces, , pods, , status, ...more] = path.split('/');
  return namespaces === 'namespaces' && pods === 'pods' && status === 'status' && more.length === 0;
}

interface TokenRef extends ObjectRef {
  readonly podUid: string;
}

/** The token that a POST requests; undefined unless it is bound to a pod. */
export function requestedToken(path: string, body: unknown): TokenRef | undefined {
  const [, , , namespaces, namespace, plural, account, token, ...more] = path.split('/');
  if (namespaces !== 'namespaces' || plural !== 'serviceaccounts' || token !== 'token') return undefined;
  const spec = isObject(body) && isObject(body['spec']) ? body['spec'] : {};
  const bound = isObject(spec['boundObjectRef']) ? spec['boundObjectRef'] : {};
  const podUid = bound['uid'];
  if (more.length > 0 || bound['kind'] !== 'Pod' || typeof podUid !== 'string' || podUid === '')
    return undefined;
  const parts = [podUid, namespace, account, spec['audiences'] ?? [], spec['expirationSeconds'] ?? 0];
  return { kind: 'tokens', key: JSON.stringify(parts), podUid };
}

/** The pod that a kept token is bound to. */
export function podOfToken(key: string): string | undefined {
  try {
    const parts: unknown = JSON.parse(key);
    return Array.isArray(parts) && typeof parts[0] === 'string' ? parts[0] : undefined;
  } catch {
    return undefined;
  }
}

const singular: Readonly<Record<ObjectKind, string>> = {
  configmaps: 'configmap',
  secrets: 'secret',
  persistentvolumeclaims: 'persistentvolumeclaim',
  persistentvolumes: 'persistentvolume',
  serviceaccounts: 'serviceaccount',
  tokens: 'token of serviceaccount',
};

/** For messages: `secret "default/db"`. */
export function describeRef({ key, kind }: ObjectRef): string {
  return `${singular[kind]} "${kind === 'tokens' ? accountOf(key) : key}"`;
}

function accountOf(key: string): string {
  const [, namespace, account] = JSON.parse(key) as readonly unknown[];
  return `${String(namespace)}/${String(account)}`;
}
