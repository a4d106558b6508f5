// Huge pages: resource names (hugepages-2Mi) and page sizes as the kernel and the CRI spell them. Pure.
// Upstream: IsHugePageResourceName and HugePageUnitSizeFromByteSize in pkg/apis/core/v1/helper.

const units = ['B', 'KB', 'MB', 'GB', 'TB'];

export function isHugePages(resourceName: string): boolean {
  return resourceName.startsWith('hugepages-');
}

/** 2097152 → 2MB. */
export function hugePageSizeName(bytes: bigint): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024n && unit < units.length - 1) {
    size /= 1024n;
    unit += 1;
  }
  return `${size}${units[unit] ?? ''}`;
}

/** The memory of all pools. */
export function hugePageBytes(
  pools: readonly { readonly sizeBytes: bigint; readonly count: bigint }[],
): number {
  return Number(pools.reduce((sum, { count, sizeBytes }) => sum + count * sizeBytes, 0n));
}
