// Validates and classifies resource names. Upstream: pkg/apis/core/helper.
import { isQualifiedName } from '../../../api/k8s/names.ts';
import { isHugePages } from '../../../api/quantity/huge-pages.ts';
import { Quantity } from '../../../api/quantity/quantity.ts';

const countable = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];

const standard: ReadonlySet<string> = new Set([
  ...countable,
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  'storage',
  'requests.storage',
]);

const ofContainers: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** Without a prefix, or with one of Kubernetes. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Whether requests may be lower than limits. */
export function isOvercommittable(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** An extended resource, counted in whole numbers. */
function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0;
}

export function isWhole(name: string): boolean {
  return countable.includes(name) || isExtended(name);
}

export function checkResourceName(name: string): string[] {
  const wrong = isQualifiedName(name);
  if (wrong.length > 0 || name.includes('/') || standard.has(name)) return wrong;
  if (isHugePages(name) || name.startsWith('requests.hugepages-')) return [];
  return ['must be a standard resource or have a domain as its prefix'];
}

/** A resource of a container's requests and limits. */
export function checkContainerResourceName(name: string): string[] {
  const wrong = checkResourceName(name);
  if (!name.includes('/')) {
    if (!ofContainers.has(name) && !isHugePages(name))
      wrong.push('must be a standard resource of containers');
  } else if (!isNative(name) && !isExtended(name))
    wrong.push('must be a name that an extended resource can have');
  return wrong;
}

/** Whether the amount is a multiple of the page size in the name. */
export function isWholePages(name: string, amount: Quantity): boolean {
  let pageSize: Quantity;
  try {
    pageSize = Quantity.parse(name.slice('hugepages-'.length));
  } catch {
    return false;
  }
  if (pageSize.sign() <= 0 || pageSize.milliValue() % 1000n !== 0n) return false;
  return amount.value() % pageSize.value() === 0n;
}
