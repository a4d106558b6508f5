// The memory of each NUMA node before anything is assigned: total, reserved for the system, allocatable to containers. Pure.
// Upstream: getSystemReservedMemory in pkg/kubelet/cm/memorymanager/memory_manager.go, getDefaultMachineState in
// policy_static.go. Invariants: a configuration that does not match the machine is refused with upstream's text; no amount is
// negative.
import type { MachineTopology, NumaNode } from '../../api/ports/machine-topology.ts';
import { hugePageBytes, isHugePages } from '../../api/quantity/huge-pages.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import {
  addAmounts,
  amountOf,
  filterAmounts,
  noAmounts,
  parseAmounts,
  type ResourceAmounts,
} from '../../api/quantity/resource-amounts.ts';
import { KubeletError } from '../../base/errors.ts';
import type { MachineState, MemoryTable, NumaNodeState } from './memory-state.ts';

/** An entry of the field reservedMemory. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string | number>>;
}

/** In bytes, by NUMA node and resource. */
type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

const maxInt64 = 2n ** 63n - 1n;

export function isMemoryType(resource: string): boolean {
  return resource === 'memory' || isHugePages(resource);
}

/** The whole units of a quantity; undefined if it is fractional or does not fit into 64 bits. */
export function wholeAmount(quantity: Quantity): number | undefined {
  const units = quantity.value();
  const isWhole = Quantity.of(units).equals(quantity);
  return isWhole && units <= maxInt64 && units >= -maxInt64 ? Number(units) : undefined;
}

/**
 * The state of a machine without assignments. `nodeReservation` is what node allocatable keeps from pods: reservedMemory must
 * distribute exactly this amount over the NUMA nodes. Throws `invalid` if it does not.
 */
export function initialMachineState(
  { nodes }: Pick<MachineTopology, 'nodes'>,
  nodeReservation: ResourceAmounts,
  reservations: readonly MemoryReservation[],
): MachineState {
  const reserved = reservedMemory(nodes, reservations);
  const fault = reservationFault(nodeReservation, reservations);
  if (fault !== undefined) throw invalid(fault);
  const system = [...reserved.values()].reduce((sum, node) => sum + (node.get('memory') ?? 0), 0);
  if (system <= 0) throw invalid('[memorymanager] you should specify the system reserved memory');
  return Object.fromEntries(nodes.map((node) => [node.id, initialNode(node, reserved.get(node.id))]));
}

function reservedMemory(
  nodes: readonly NumaNode[],
  reservations: readonly MemoryReservation[],
): ReservedMemory {
  const reserved = new Map(nodes.map(({ id }) => [id, new Map<string, number>()]));
  for (const { limits, numaNode } of reservations) {
    const node = reserved.get(numaNode);
    if (node === undefined)
      throw invalid(
        `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
      );
    for (const [resource, quantity] of parseAmounts(limits)) {
      const bytes = wholeAmount(quantity);
      if (bytes === undefined) throw invalid('could not covert a variable of type Quantity to int64');
      node.set(resource, bytes);
    }
  }
  return reserved;
}

function reservationFault(
  nodeReservation: ResourceAmounts,
  reservations: readonly MemoryReservation[],
): string | undefined {
  const sum = reservations.reduce(
    (before, { limits }) => addAmounts(parseAmounts(limits), before),
    noAmounts,
  );
  const wanted = filterAmounts(nodeReservation, isMemoryType);
  for (const resource of [...new Set([...sum.keys(), ...wanted.keys()])].toSorted()) {
    // Zero has no format of its own, so that adding keeps the other one's.
    const has = Quantity.zero.add(amountOf(sum, resource));
    const needs = Quantity.zero.add(amountOf(wanted, resource));
    if (!has.equals(needs))
      return `the total amount "${has}" of type "${resource}" is not equal to the value "${needs}" determined by Node Allocatable feature`;
  }
  return undefined;
}

function initialNode(
  { hugePages, id, memoryBytes }: NumaNode,
  reserved: ReadonlyMap<string, number> = new Map(),
): NumaNodeState {
  const tables = hugePages.map(({ count, sizeBytes }): [string, MemoryTable] => {
    const resource = `hugepages-${Quantity.of(sizeBytes, 'BinarySI')}`;
    return [resource, freeTable(Number(count * sizeBytes), reserved.get(resource) ?? 0, 0)];
  });
  const inHugePages = hugePageBytes(hugePages);
  const memory = freeTable(Number(memoryBytes), reserved.get('memory') ?? 0, inHugePages);
  return {
    numberOfAssignments: 0,
    memoryMap: { ...Object.fromEntries(tables), memory },
    cells: [id],
  };
}

/**
 * differs from upstream: with more reserved than there is, nothing is allocatable. Upstream's unsigned difference wraps around
 * and lets pods have almost 2^64 bytes.
 */
function freeTable(total: number, systemReserved: number, unusable: number): MemoryTable {
  const allocatable = Math.max(0, total - systemReserved - unusable);
  return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'MemoryManager', message);
}
