// Takes memory blocks from the NUMA nodes of a machine and returns them. Pure: every function returns a new state.
// Upstream: updateMachineState and releaseMemory in pkg/kubelet/cm/memorymanager/policy_static.go.
// Invariants: free + reserved of a table stays the same, and neither becomes negative; a node without assignments forms a
// group of its own.
import type { MachineState, MemoryBlock, MemoryEntries, MemoryTable, NumaNodeState } from './memory-state.ts';

/** What is assigned to containers, and what remains on the machine. */
export interface AssignedMemory {
  readonly machineState: MachineState;
  readonly entries: MemoryEntries;
}

export function tableOf(machine: MachineState, node: number, type: string): MemoryTable | undefined {
  return machine[node]?.memoryMap[type];
}

export function freeOn(machine: MachineState, nodes: readonly number[], type: string): number {
  return nodes.reduce((sum, node) => sum + (tableOf(machine, node, type)?.free ?? 0), 0);
}

/** Assigns a block to its nodes and takes `size` from them: all of the first node's free memory before the second's. */
export function reserveBlock(
  machine: MachineState,
  { numaAffinity, type }: MemoryBlock,
  size: number,
): MachineState {
  let left = size;
  return changeNodes(machine, numaAffinity, (node) => {
    const taken = Math.min(left, node.memoryMap[type]?.free ?? 0);
    left -= taken;
    const numberOfAssignments = node.numberOfAssignments + 1;
    return { ...node, ...moved(node, type, taken), numberOfAssignments, cells: numaAffinity };
  });
}

/** Returns blocks to their nodes, to the first node before the second. */
export function releaseBlocks(machine: MachineState, blocks: readonly MemoryBlock[]): MachineState {
  return blocks.reduce((state, { numaAffinity, size, type }) => {
    let left = size;
    return changeNodes(state, numaAffinity, (node, id) => {
      const returned = Math.min(left, node.memoryMap[type]?.reserved ?? 0);
      left -= returned;
      const numberOfAssignments = Math.max(0, node.numberOfAssignments - 1);
      const cells = numberOfAssignments === 0 ? [id] : node.cells;
      return { ...node, ...moved(node, type, -returned), numberOfAssignments, cells };
    });
  }, machine);
}

function changeNodes(
  machine: MachineState,
  ids: readonly number[],
  change: (node: NumaNodeState, id: number) => NumaNodeState,
): MachineState {
  const changed = ids.flatMap((id) => {
    const node = machine[id];
    return node === undefined ? [] : [[id, change(node, id)] as const];
  });
  return { ...machine, ...Object.fromEntries(changed) };
}

/** Moves an amount from free to reserved. */
function moved(node: NumaNodeState, type: string, amount: number): Pick<NumaNodeState, 'memoryMap'> {
  const table = node.memoryMap[type];
  if (table === undefined || amount === 0) return { memoryMap: node.memoryMap };
  const { free, reserved } = table;
  const changed = { ...table, reserved: reserved + amount, free: free - amount };
  return { memoryMap: { ...node.memoryMap, [type]: changed } };
}

/**
 * Whether these nodes cannot be used together: one of them is used by itself or in another group. The kernel would otherwise
 * reclaim memory of a single-node container for one that spans several nodes.
 */
export function breaksGroups(machine: MachineState, nodes: readonly number[]): boolean {
  if (nodes.length === 1) return false;
  return nodes.some((id) => {
    const node = machine[id];
    if (node === undefined || node.numberOfAssignments === 0) return false;
    return node.cells.length === 1 || !sameNodes(node.cells, nodes);
  });
}

export function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((node) => b.includes(node));
}

/** Undefined if the container is not in the state. */
export function blocksOf(
  entries: MemoryEntries,
  uid: string,
  container: string,
): readonly MemoryBlock[] | undefined {
  const pod = Object.hasOwn(entries, uid) ? entries[uid] : undefined;
  return pod !== undefined && Object.hasOwn(pod, container) ? pod[container] : undefined;
}

export function withBlocks(
  entries: MemoryEntries,
  uid: string,
  container: string,
  blocks: readonly MemoryBlock[],
): MemoryEntries {
  const pod = Object.hasOwn(entries, uid) ? entries[uid] : {};
  return { ...entries, [uid]: { ...pod, [container]: blocks } };
}

/** Removes a container from the state and returns its memory. The same object if it is not in the state. */
export function releaseContainer(before: AssignedMemory, uid: string, container: string): AssignedMemory {
  const blocks = blocksOf(before.entries, uid, container);
  if (blocks === undefined) return before;
  const { [container]: _, ...pod } = before.entries[uid] ?? {};
  const { [uid]: __, ...others } = before.entries;
  const entries = Object.keys(pod).length === 0 ? others : { ...others, [uid]: pod };
  return { machineState: releaseBlocks(before.machineState, blocks), entries };
}

/** Removes a pod from the state and returns its memory. */
export function releasePod(before: AssignedMemory, uid: string): AssignedMemory {
  if (!Object.hasOwn(before.entries, uid)) return before;
  const { [uid]: pod = {}, ...entries } = before.entries;
  return { machineState: releaseBlocks(before.machineState, Object.values(pod).flat()), entries };
}
