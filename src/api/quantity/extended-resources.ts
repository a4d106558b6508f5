/**
 * Whether a device plugin or an administrator advertises this resource: it is qualified with a domain that does not end in
 * kubernetes.io, since upstream treats all those domains as native. Upstream: IsExtendedResourceName in pkg/apis/core/helper.
 */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}
