// Computes available memory from usage and limit. Pure. Invariants: no figure is negative; figures that are no numbers give no room.
// Upstream: adjustForHugePages in pkg/kubelet/eviction and getAvailableMemory of pkg/kubelet/stats, which may wrap below zero.
import type { MemoryLoad } from '../../api/ports/cgroup-usage.ts';
import type { MemoryRoom } from '../../api/ports/node-usage.ts';

/** `reservedBytes`: memory that only huge pages can use. Undefined without a limit. */
export function memoryRoom(
  atMs: number,
  load: MemoryLoad | undefined,
  reservedBytes = 0,
): MemoryRoom | undefined {
  if (load === undefined) return undefined;
  const { limitBytes, usageBytes, workingSetBytes } = load;
  if (![limitBytes, usageBytes, workingSetBytes].every(Number.isFinite)) return undefined;
  const capacityBytes = Math.max(limitBytes - reservedBytes, 0);
  const availableBytes = Math.max(capacityBytes - workingSetBytes, 0);
  return { atMs, capacityBytes, usageBytes, workingSetBytes, availableBytes };
}
