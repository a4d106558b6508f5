// What of the members of a kept collection is written. Pure.
import type { Node } from '../api/k8s/types.ts';
import type { KubeObject } from '../api/ports/api-client.ts';
import type { KeptCollection } from './kept-kinds.ts';

/** Bounds what is kept; the rest waits for the API server. */
const maxServices = 5_000;
/** Services of these are in the environment of pods of every namespace. */
const masterNamespace = 'default';

/** `namespaces`: those of the pods that may still start. */
export function computeWrittenMembers(
  name: KeptCollection,
  members: readonly KubeObject[],
  namespaces: ReadonlySet<string>,
): readonly KubeObject[] {
  return relevant(name, members, namespaces).map(withoutManagedFields);
}

function relevant(
  name: KeptCollection,
  members: readonly KubeObject[],
  namespaces: ReadonlySet<string>,
): readonly KubeObject[] {
  if (name === 'nodes') return members.map((node) => withoutImages(node as Node));
  if (name !== 'services') return members;
  const isUsed = ({ metadata }: KubeObject): boolean =>
    metadata?.namespace === masterNamespace || namespaces.has(metadata?.namespace ?? '');
  return members.filter(isUsed).slice(0, maxServices);
}

export function byId(objects: readonly KubeObject[]): Map<string, KubeObject> {
  return new Map(objects.map((each) => [idOfMember(each), each]));
}

export function idOfMember({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

/** Managed fields are often larger than the rest of the object. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _large, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}

function withoutImages(node: Node): Node {
  const { images: _large, ...status } = node.status ?? {};
  return { ...node, status };
}
