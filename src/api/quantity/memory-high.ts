// The memory from which on the kernel throttles a cgroup (memory.high of cgroup v2). Pure.
// Upstream: generateLinuxContainerResources in kuberuntime_container_linux.go, memoryHighForPod in cm/helpers_linux.go.

interface MemoryHighInput {
  readonly requestBytes: bigint;
  /** The limit, or whatever bounds a cgroup without one; 0 if unknown. */
  readonly mostBytes: bigint;
  /** memoryThrottlingFactor: the share of the range between request and limit. */
  readonly factor: number;
  readonly pageBytes: bigint;
}

/** A multiple of the page size above the request; undefined if no such value exists. */
export function memoryHighBytes(input: MemoryHighInput): bigint | undefined {
  const { factor, mostBytes, pageBytes, requestBytes } = input;
  if (mostBytes <= 0n || (requestBytes === mostBytes && requestBytes !== 0n)) return undefined;
  // In doubles, like upstream: other arithmetic would round to another page.
  const wanted = Number(requestBytes) + (Number(mostBytes) - Number(requestBytes)) * factor;
  const high = BigInt(Math.floor(wanted / Number(pageBytes))) * pageBytes;
  return high > requestBytes ? high : undefined;
}
