// Which names resources may have, and what follows from a name. Upstream: pkg/apis/core/helper.
import { isQualifiedName } from '../../api/k8s/names.ts';
import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { Quantity } from '../../api/quantity/quantity.ts';

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

/** Without a prefix, or with one of Kubernetes' own. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Whether more of it may be promised than there is. */
export function isOvercommittable(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** A device plugin's or an administrator's resource, counted in whole numbers. */
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

/** What a container may ask for. */
export function checkContainerResourceName(name: string): string[] {
  const wrong = checkResourceName(name);
  if (!name.includes('/')) {
    if (!ofContainers.has(name) && !isHugePages(name))
      wrong.push('must be a standard resource of containers');
  } else if (!isNative(name) && !isExtended(name))
    wrong.push('must be a name that an extended resource can have');
  return wrong;
}

/** Whether the amount is made of whole pages of the size that the name tells. */
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
