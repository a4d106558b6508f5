// Turns what the managers hold into the messages of podresources. Pure. Every result is sorted; upstream's order is random.
// Upstream: containerDevicesFromResourceDeviceInstances and containerMemoryFromBlock in pkg/kubelet/cm.
import type {
  ContainerDevices,
  ContainerMemory,
  TopologyInfo,
} from '../api/kubelet/generated/podresources/v1/api.ts';
import type { HeldDevice, HeldMemory } from './resource-views.ts';

/** By resource, then id. */
export function sortDevices(devices: readonly HeldDevice[]): readonly HeldDevice[] {
  return devices.toSorted((a, b) => compareText(a.resource, b.resource) || compareText(a.id, b.id));
}

/**
 * One entry per device and NUMA node, each with one id.
 * differs from upstream: a device whose topology names no node is listed without topology; upstream omits it from the
 * allocatable devices.
 */
export function deviceEntries(devices: readonly HeldDevice[]): ContainerDevices[] {
  return devices.flatMap(({ id, numaNodes, resource }) => {
    const entry = (topology: TopologyInfo | undefined): ContainerDevices => ({
      resourceName: resource,
      deviceIds: [id],
      topology,
    });
    if (numaNodes === undefined || numaNodes.length === 0) return [entry(undefined)];
    return ascending(numaNodes).map((node) => entry(topologyOf([node])));
  });
}

/** v1alpha1 has no topology. As upstream, a device of several NUMA nodes is listed once per node. */
export function withoutTopology(entries: readonly ContainerDevices[]): ContainerDevices[] {
  return entries.map((entry) => ({ ...entry, topology: undefined }));
}

/** By type, then NUMA nodes. Always with a topology, even if it is empty. */
export function memoryEntries(blocks: readonly HeldMemory[]): ContainerMemory[] {
  return blocks
    .map(({ numaAffinity, size, type }) => ({ type, size, nodes: ascending(numaAffinity) }))
    .sort((a, b) => compareText(a.type, b.type) || compareNodes(a.nodes, b.nodes))
    .map(({ nodes, size, type }) => ({ memoryType: type, size: BigInt(size), topology: topologyOf(nodes) }));
}

export function cpuIds(cpus: readonly number[]): bigint[] {
  return ascending(cpus).map(BigInt);
}

function topologyOf(nodes: readonly number[]): TopologyInfo {
  return { nodes: nodes.map((node) => ({ ID: BigInt(node) })) };
}

function ascending(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareNodes(a: readonly number[], b: readonly number[]): number {
  for (const [at, node] of a.entries()) {
    const difference = node - (b[at] ?? Number.NEGATIVE_INFINITY);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
