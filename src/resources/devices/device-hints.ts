// On which sets of NUMA nodes a request for devices fits. Pure: no clock, no I/O, no log.
// Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go. Invariant: the work grows with the number of sets of nodes and the
// number of devices separately, not with their product: the plugin decides how many devices there are.
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import type { TopologyHint } from '../topology/hint-provider.ts';
import { bitCount, mostNumaNodes, type NumaMask, type NumaNodes } from '../topology/numa-nodes.ts';

export type DeviceTable = ReadonlyMap<string, Pick<PluginDevice, 'numaNodes'>>;

interface HintQuestion {
  /** All devices of the resource, healthy or not. */
  readonly devices: DeviceTable;
  /** Those that the container (or pod) already has. */
  readonly own: readonly string[];
  /** Healthy and not allocated. */
  readonly available: readonly string[];
  /** Of init containers that have ended when this container starts. */
  readonly reusable: readonly string[];
  readonly request: number;
  readonly nodes: NumaNodes;
}

/** Undefined: no preference, since the plugin reports no topology. */
export function computeDeviceHints(question: HintQuestion): readonly TopologyHint[] | undefined {
  const { available, devices, own, request, reusable } = question;
  if (!hasTopology(devices)) return undefined;
  if (own.length > 0) return own.length === request ? hintsFrom(question, own, []) : [];
  if (new Set([...available, ...reusable]).size < request) return [];
  return hintsFrom(question, available, reusable);
}

/** Whether any device of the resource names a NUMA node. */
export function hasTopology(devices: DeviceTable): boolean {
  for (const { numaNodes } of devices.values()) if ((numaNodes?.length ?? 0) > 0) return true;
  return false;
}

function hintsFrom(
  { devices, nodes, request }: HintQuestion,
  available: readonly string[],
  reusable: readonly string[],
): readonly TopologyHint[] | undefined {
  const maskOf = (id: string): NumaMask => nodes.maskOf(devices.get(id)?.numaNodes ?? []);
  const all = [...devices.keys()].map(maskOf);
  // Only nodes that have devices are combined. Without any, all nodes are, as upstream does.
  const considered = all.reduce((union, mask) => union | mask, 0) || nodes.all;
  const size = bitCount(considered);
  if (size > mostNumaNodes) return undefined;
  const placed = reusable.filter((id) => devices.get(id)?.numaNodes !== undefined);
  const onAll = countOnNodes(all, considered);
  const onReusable = countOnNodes(placed.map(maskOf), considered);
  const onAvailable = countOnNodes(available.map(maskOf), considered);
  let least = size;
  const fitting: NumaMask[] = [];
  for (const mask of nodes.subsets(considered)) {
    if (onAll(mask) >= request) least = Math.min(least, bitCount(mask));
    const reused = onReusable(mask);
    if (reused === placed.length && reused + onAvailable(mask) >= request) fitting.push(mask);
  }
  return fitting.map((mask) => ({ mask, preferred: bitCount(mask) === least }));
}

/** Counts the devices on at least one node of a set: all but those that lie completely in the other nodes. */
function countOnNodes(masks: readonly NumaMask[], considered: NumaMask): (set: NumaMask) => number {
  const bits = bitsOf(considered);
  const pack = (mask: NumaMask): number =>
    bits.reduce((packed, bit, at) => packed | ((mask & bit) === 0 ? 0 : 1 << at), 0);
  const within = new Int32Array(2 ** bits.length);
  for (const mask of masks) {
    const at = pack(mask);
    within[at] = (within[at] ?? 0) + 1;
  }
  // Afterwards each cell holds the sum over all subsets of its set.
  for (let bit = 1; bit < within.length; bit *= 2)
    for (let set = 0; set < within.length; set += 1)
      if ((set & bit) !== 0) within[set] = (within[set] ?? 0) + (within[set ^ bit] ?? 0);
  return (set) => masks.length - (within[pack(considered & ~set)] ?? 0);
}

function bitsOf(mask: NumaMask): readonly number[] {
  const bits: number[] = [];
  for (let left = mask; left !== 0; left &= left - 1) bits.push(left & -left);
  return bits;
}
