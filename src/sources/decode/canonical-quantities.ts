// Rewrites every quantity of a pod in the canonical form of the API, so that equal amounts are equal strings; amounts of
// resources are rounded up to milli. Pure. Runs after the UID of a static pod is computed, which depends on the original text.
// Upstream: apimachinery/pkg/api/resource, whenever a quantity is encoded; pkg/apis/core/v1 (SetDefaults_ResourceList).
import type { Pod, ResourceList } from '../../api/k8s/types.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { type FieldType, fieldType } from '../schema/schema.ts';

const milli = -3;

export function canonicalQuantities(pod: Pod): Pod {
  return rewrite(pod, { is: 'struct', name: 'Pod' }) as Pod;
}

function rewrite(value: unknown, type: FieldType): unknown {
  if (type.is === 'scalar')
    return type.name === 'quantity' && typeof value === 'string' ? Quantity.parse(value).toString() : value;
  if (type.is === 'list') return Array.isArray(value) ? value.map((item) => rewrite(item, type.of)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (type.is === 'map' && type.of.is === 'scalar' && type.of.name === 'quantity')
    return roundUpToMilli(value as ResourceList);
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const innerType = type.is === 'map' ? type.of : fieldType(type.name, key);
    return [key, innerType === undefined ? inner : rewrite(inner, innerType)];
  });
  return Object.fromEntries(entries);
}

/** Quantities in maps are amounts of resources; single ones (the size of a volume, a divisor) are not rounded. */
function roundUpToMilli(list: ResourceList): ResourceList {
  return Object.fromEntries(
    Object.entries(list).map(([name, text]) => [name, Quantity.parse(text).roundUp(milli).toString()]),
  );
}
