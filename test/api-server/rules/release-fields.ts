// The fields that API servers of earlier releases do not know. A server drops unknown fields of built-in types without an
// error, as it does with those of a gate that is off.
// Upstream: staging/src/k8s.io/api and pkg/registry/core/{node,pod}/strategy.go of each release.
import type { StoredObject } from '../objects/stored-object.ts';

/** The minor release that first keeps the field by default. */
const introduced: readonly (readonly [minor: number, plural: string, path: readonly string[]])[] = [
  [36, 'nodes', ['status', 'declaredFeatures']],
  [37, 'nodes', ['status', 'nodeInfo', 'runningInUserNamespace']],
  [36, 'pods', ['status', 'allocatedResources']],
  [36, 'pods', ['status', 'resources']],
  [36, 'pods', ['status', 'extendedResourceClaimStatus']],
];

export function withoutLaterFields(plural: string, object: StoredObject, minor: number): StoredObject {
  return introduced
    .filter(([since, of]) => of === plural && minor < since)
    .reduce((kept, [, , path]) => without(kept, path) as StoredObject, object);
}

function without(value: unknown, [first = '', ...rest]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || !(first in value)) return value;
  const { [first]: found, ...others } = value as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [first]: without(found, rest) };
}
