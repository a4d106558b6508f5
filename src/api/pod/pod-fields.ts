// The downward API: a pod's fields and its containers' resources as text. Pure.
// Upstream: pkg/fieldpath (ExtractFieldPathAsString) and pkg/api/v1/resource (ExtractResourceValueByContainerName…).
import { KubeletError } from '../../base/errors.ts';
import { goQuote } from '../../base/log/log-value.ts';
import type { Container, Pod, ResourceFieldSelector, ResourceList } from '../k8s/types.ts';
import { isHugePages } from '../quantity/huge-pages.ts';
import { Quantity } from '../quantity/quantity.ts';
import { initAndRegularContainers } from './find-container.ts';

/** The text of a field that volumes and environment variables may refer to. Throws `invalid` for any other. */
export function podFieldText(pod: Pod, fieldPath: string): string {
  const { metadata = {} } = pod;
  const subscript = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(fieldPath);
  if (subscript !== null) {
    const [, map = '', key = ''] = subscript;
    return (map === 'labels' ? metadata.labels : metadata.annotations)?.[key] ?? '';
  }
  switch (fieldPath) {
    case 'metadata.annotations':
      return formatMap(metadata.annotations ?? {});
    case 'metadata.labels':
      return formatMap(metadata.labels ?? {});
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    default:
      throw new KubeletError('invalid', 'UnsupportedFieldPath', `unsupported fieldPath: ${fieldPath}`);
  }
}

/** One `key="value"` per line, sorted by key. */
function formatMap(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort((a, b) => (a < b ? -1 : 1));
  return keys.map((key) => `${key}=${goQuote(map[key] ?? '')}`).join('\n');
}

/** The node's allocatable by resource name, for containers without a limit. */
export type Allocatable = Readonly<Record<string, string>>;

/**
 * A container's request or limit in multiples of the divisor, rounded up. A limit of CPU, memory or ephemeral storage defaults
 * to the node's allocatable. Throws `invalid` if there is no such container or resource.
 */
export function containerResourceText(
  pod: Pod,
  selector: ResourceFieldSelector,
  containerName: string,
  allocatable: Allocatable,
): string {
  const container = mustFindContainer(pod, containerName);
  const [list, resource] = splitResource(selector.resource);
  const { requests, limits } = container.resources ?? {};
  const amounts = list === 'requests' ? { ...requests } : withAllocatable(limits ?? {}, allocatable);
  return inDivisors(resource, amounts[resource], selector.divisor).toString();
}

function mustFindContainer(pod: Pod, name: string): Container {
  const found = initAndRegularContainers(pod).find((container) => container.name === name);
  if (found === undefined)
    throw new KubeletError('invalid', 'NoSuchContainer', `container ${name} not found`);
  return found;
}

const plainResources = ['cpu', 'memory', 'ephemeral-storage'];

function splitResource(resource: string): readonly ['requests' | 'limits', string] {
  const [, list, name = ''] = /^(requests|limits)\.(.+)$/.exec(resource) ?? [];
  const known = plainResources.includes(name) || isHugePages(name);
  if (known && (list === 'requests' || list === 'limits')) return [list, name];
  throw new KubeletError('invalid', 'UnsupportedResource', `unsupported container resource : ${resource}`);
}

function withAllocatable(limits: ResourceList, allocatable: Allocatable): ResourceList {
  const merged = { ...limits };
  for (const name of plainResources) {
    const own = merged[name];
    const node = allocatable[name];
    if ((own === undefined || Quantity.fromJson(own).isZero()) && node !== undefined) merged[name] = node;
  }
  return merged;
}

function inDivisors(resource: string, amount: string | undefined, divisor: string | undefined): bigint {
  const asked = divisor === undefined ? Quantity.zero : Quantity.fromJson(divisor);
  const unit = asked.isZero() ? Quantity.of(1) : asked;
  const value = amount === undefined ? Quantity.zero : Quantity.fromJson(amount);
  const [whole, part] =
    resource === 'cpu' ? [value.milliValue(), unit.milliValue()] : [value.value(), unit.value()];
  return (whole + part - 1n) / part;
}
