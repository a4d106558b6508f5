// Restores the assignments of an earlier kubelet from its state file. Pure. Upstream: validateState in
// pkg/kubelet/cm/memorymanager/policy_static.go and NewCheckpointState.
// differs from upstream, which refuses to start until the node is drained and the file is deleted: assignments that are still
// possible are kept, whatever has changed.
// Invariants: a file that matches the machine is used as it is; otherwise the state of the machine follows from the assignments
// that are kept.
import {
  type AssignedMemory,
  blocksOf,
  freeOn,
  releaseContainer,
  reserveBlock,
  tableOf,
  withBlocks,
} from './memory-blocks.ts';
import type { MachineState, MemoryBlock, MemoryEntries, MemoryState, NumaNodeState } from './memory-state.ts';

interface ContainerRef {
  readonly uid: string;
  readonly container: string;
}

interface RecoveredMemory {
  readonly assigned: AssignedMemory;
  /** Why the file could not be used as it is. */
  readonly why: string | undefined;
  /** Assignments that are no longer possible. */
  readonly dropped: readonly ContainerRef[];
}

export type MemoryPolicy = 'None' | 'Static';

/** `initial` is the machine without assignments; `saved` is undefined if there is no usable file. */
export function recoverMemoryState(
  policy: MemoryPolicy,
  initial: MachineState,
  saved: MemoryState | undefined,
): RecoveredMemory {
  const nothing = { machineState: initial, entries: {} };
  if (saved === undefined) return { assigned: nothing, why: undefined, dropped: [] };
  if (saved.policyName !== policy)
    return {
      assigned: nothing,
      why: `configured policy "${policy}" differs from state checkpoint policy "${saved.policyName}"`,
      dropped: containersIn(saved.entries),
    };
  if (policy === 'None' || isUnused(saved)) return { assigned: nothing, why: undefined, dropped: [] };
  const recomputed = recompute(initial, saved.entries);
  const why = differenceFrom(initial, saved, recomputed);
  // Which of several nodes a block is taken from depends on the order of the assignments, so the file's state is kept.
  const machineState = why === undefined ? saved.machineState : recomputed.assigned.machineState;
  return { ...recomputed, assigned: { ...recomputed.assigned, machineState }, why };
}

function isUnused({ entries, machineState }: MemoryState): boolean {
  return Object.keys(machineState).length + Object.keys(entries).length === 0;
}

function recompute(initial: MachineState, entries: MemoryEntries): Omit<RecoveredMemory, 'why'> {
  let assigned: AssignedMemory = { machineState: initial, entries: {} };
  const dropped: ContainerRef[] = [];
  for (const { container, uid } of narrowFirst(entries)) {
    const kept = keepBlocks(assigned, uid, container, blocksOf(entries, uid, container) ?? []);
    if (kept === undefined) dropped.push({ uid, container });
    else assigned = kept;
  }
  return { assigned, dropped };
}

/** Containers on few nodes come first: one on several nodes would otherwise take what only they can use. */
function narrowFirst(entries: MemoryEntries): readonly ContainerRef[] {
  const width = ({ container, uid }: ContainerRef): number =>
    Math.max(0, ...(blocksOf(entries, uid, container) ?? []).map(({ numaAffinity }) => numaAffinity.length));
  return containersIn(entries).toSorted((a, b) => width(a) - width(b));
}

function containersIn(entries: MemoryEntries): readonly ContainerRef[] {
  const sorted = (names: object): readonly string[] => Object.keys(names).toSorted();
  return sorted(entries).flatMap((uid) =>
    sorted(entries[uid] ?? {}).map((container) => ({ uid, container })),
  );
}

/** Assigns the memory that a container has already. Undefined if the machine does not have it. */
export function keepBlocks(
  before: AssignedMemory,
  uid: string,
  container: string,
  blocks: readonly MemoryBlock[],
): AssignedMemory | undefined {
  const { entries, machineState } = releaseContainer(before, uid, container);
  let machine = machineState;
  for (const block of blocks) {
    if (!isPossible(machine, block)) return undefined;
    machine = reserveBlock(machine, block, block.size);
  }
  return { machineState: machine, entries: withBlocks(entries, uid, container, blocks) };
}

function isPossible(machine: MachineState, { numaAffinity, size, type }: MemoryBlock): boolean {
  if (!Number.isSafeInteger(size) || size < 0) return false;
  if (numaAffinity.length === 0 || new Set(numaAffinity).size !== numaAffinity.length) return false;
  if (!numaAffinity.every((node) => tableOf(machine, node, type) !== undefined)) return false;
  return freeOn(machine, numaAffinity, type) >= size;
}

function differenceFrom(
  initial: MachineState,
  { machineState }: MemoryState,
  { assigned, dropped }: Omit<RecoveredMemory, 'why'>,
): string | undefined {
  if (!isSameMachine(initial, machineState))
    return 'the memory of the machine or its reservation has changed';
  if (dropped.length > 0 || !isSameUse(machineState, assigned.machineState))
    return 'its state of the machine does not match its assignments';
  return undefined;
}

function isSameMachine(a: MachineState, b: MachineState): boolean {
  return (
    sameKeys(a, b) &&
    Object.entries(a).every(([id, { memoryMap }]) => {
      const other = b[id]?.memoryMap ?? {};
      return (
        sameKeys(memoryMap, other) &&
        Object.entries(memoryMap).every(
          ([type, { allocatable, systemReserved, total }]) =>
            other[type]?.total === total &&
            other[type].systemReserved === systemReserved &&
            other[type].allocatable === allocatable,
        )
      );
    })
  );
}

/** Compares the sums over all nodes: how several nodes share a block depends on the order of the assignments. */
function isSameUse(saved: MachineState, expected: MachineState): boolean {
  return (
    Object.entries(saved).every(([id, node]) => isSound(saved, Number(id), node)) &&
    Object.entries(expected).every(
      ([id, { numberOfAssignments }]) => saved[id]?.numberOfAssignments === numberOfAssignments,
    ) &&
    typesOf(expected).every((type) => reservedOf(saved, type) === reservedOf(expected, type))
  );
}

function isSound(machine: MachineState, id: number, { cells, memoryMap }: NumaNodeState): boolean {
  const areSums = Object.values(memoryMap).every(
    ({ allocatable, free, reserved }) => free >= 0 && reserved >= 0 && free + reserved === allocatable,
  );
  return areSums && cells.includes(id) && cells.every((cell) => Object.hasOwn(machine, cell));
}

function typesOf(machine: MachineState): readonly string[] {
  return [...new Set(Object.values(machine).flatMap(({ memoryMap }) => Object.keys(memoryMap)))];
}

function reservedOf(machine: MachineState, type: string): number {
  const of = ({ memoryMap }: NumaNodeState): number => memoryMap[type]?.reserved ?? 0;
  return Object.values(machine).reduce((sum, node) => sum + of(node), 0);
}

function sameKeys(a: object, b: object): boolean {
  return (
    Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => Object.hasOwn(b, key))
  );
}
