// Decides on which NUMA nodes a container of a Guaranteed pod gets its memory. Pure. Upstream:
// pkg/kubelet/cm/memorymanager/policy_static.go (Allocate, GetTopologyHints, GetPodTopologyHints).
// Invariants: a container keeps what it has; the sum over a pod's containers is what the pod holds, since the entries of ended
// init containers shrink by what later containers reuse of them.
// differs from upstream: what init containers leave for reuse follows from the entries, instead of a second account that is lost
// with a restart; the outcome of one admission is the same.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import type { NumaMask, NumaNodes } from '../topology/numa-nodes.ts';
import {
  type AssignedMemory,
  blocksOf,
  breaksGroups,
  freeOn,
  reserveBlock,
  sameNodes,
  withBlocks,
} from './memory-blocks.ts';
import {
  bestMemoryHint,
  computeMemoryHints,
  extendMemoryHint,
  hintsByType,
  hintsOfBlocks,
  type MemoryHint,
  type MemoryNodes,
  noHints,
  type ReusableMemory,
} from './memory-hints.ts';
import { containerMemory, endedInitContainers, type MemoryRequests, podMemory } from './memory-requests.ts';
import type { MachineState, MemoryBlock, MemoryEntries } from './memory-state.ts';

/**
 * What the container is to get; empty if nothing. Throws if its requests cannot be represented. `isRunning` names containers that
 * are known to run.
 */
export function memoryToAssign(
  { entries, machineState }: AssignedMemory,
  pod: Pod,
  container: Container,
  isRunning: (container: string) => boolean = () => false,
): MemoryRequests {
  const hasStarted = (name: string): boolean =>
    isRunning(name) || blocksOf(entries, podUid(pod), name) !== undefined;
  if (hasEnded(pod, container, hasStarted)) return new Map();
  return withoutUnknown(machineState, containerMemory(container));
}

/** No huge pages of a size that the machine lacks are nothing to assign. Upstream panics. */
function withoutUnknown(machine: MachineState, requests: MemoryRequests): MemoryRequests {
  const isKnown = (type: string): boolean => Object.values(machine).some((node) => type in node.memoryMap);
  return new Map([...requests].filter(([type, bytes]) => bytes > 0 || isKnown(type)));
}

/**
 * Whether this is an init container whose memory was returned when a later container started.
 * differs from upstream, which assigns memory to it once more after a restart of the kubelet, and rejects the running pod if
 * there is not enough.
 */
function hasEnded(pod: Pod, { name }: Container, hasStarted: (name: string) => boolean): boolean {
  if (hasStarted(name)) return false;
  const all = initAndRegularContainers(pod);
  const at = all.findIndex((each) => each.name === name);
  const container = pod.spec?.initContainers?.[at];
  if (container === undefined || isSidecar(container)) return false;
  return all.slice(at + 1).some((later) => hasStarted(later.name));
}

export function containerMemoryHints(
  nodes: MemoryNodes,
  { entries, machineState }: AssignedMemory,
  pod: Pod,
  container: Container,
  requests: MemoryRequests,
): ResourceHints {
  if (requests.size === 0) return noHints;
  const blocks = blocksOf(entries, podUid(pod), container.name);
  if (blocks !== undefined) return hintsOfBlocks(nodes.numa, blocks, requests);
  const reusable = reusableMemory(nodes.numa, entries, pod, container.name);
  return hintsByType(requests, computeMemoryHints(nodes, machineState, requests, reusable));
}

/** As upstream, the memory of the first container found is compared with the whole pod's: mostly there is no hint then. */
export function podMemoryHints(
  nodes: MemoryNodes,
  { entries, machineState }: AssignedMemory,
  pod: Pod,
): ResourceHints {
  const requests = withoutUnknown(machineState, podMemory(pod));
  if (requests.size === 0) return noHints;
  for (const { name } of initAndRegularContainers(pod)) {
    const blocks = blocksOf(entries, podUid(pod), name);
    if (blocks !== undefined) return hintsOfBlocks(nodes.numa, blocks, requests);
  }
  return hintsByType(requests, computeMemoryHints(nodes, machineState, requests));
}

/** Assigns the requested memory to the container. Throws if it cannot be satisfied. The same object if it has memory already. */
export function assignMemory(
  nodes: MemoryNodes,
  before: AssignedMemory,
  pod: Pod,
  container: Container,
  requests: MemoryRequests,
  hint: TopologyHint,
): AssignedMemory {
  const uid = podUid(pod);
  if (blocksOf(before.entries, uid, container.name) !== undefined) return before;
  const { entries, machineState } = before;
  const reusable = reusableMemory(nodes.numa, entries, pod, container.name);
  const { mask } = computePlacement(nodes, machineState, requests, reusable, hint);
  const numaAffinity = nodes.numa.idsOf(mask);
  const blocks = [...requests].map(([type, size]): MemoryBlock => ({ numaAffinity, type, size }));
  const held = reusable.get(mask);
  const machine = blocks.reduce(
    (state, block) => reserveBlock(state, block, Math.max(0, block.size - (held?.get(block.type) ?? 0))),
    machineState,
  );
  const shrunk = blocks.reduce((all, block) => reuse(all, pod, container.name, block), entries);
  return { machineState: machine, entries: withBlocks(shrunk, uid, container.name, blocks) };
}

/** The topology manager's nodes; the best ones if it names none; more of them if they do not suffice. */
function computePlacement(
  nodes: MemoryNodes,
  machine: MachineState,
  requests: MemoryRequests,
  reusable: ReusableMemory,
  hint: TopologyHint,
): MemoryHint {
  const own = (): readonly MemoryHint[] => computeMemoryHints(nodes, machine, requests, reusable);
  let chosen: MemoryHint;
  if (hint.mask === undefined) {
    const best = bestMemoryHint(own());
    if (best === undefined)
      throw refused('failed to get the default NUMA affinity, no NUMA nodes with enough memory is available');
    if (hint.preferred && !best.preferred) throw refused('failed to find the default preferred hint');
    chosen = best;
  } else chosen = { mask: hint.mask, preferred: hint.preferred };
  if (!isEnough(nodes.numa, machine, requests, chosen.mask)) {
    const extended = extendMemoryHint(own(), chosen.mask);
    if (extended === undefined)
      throw refused('failed to find NUMA nodes to extend the current topology hint');
    if (chosen.preferred && !extended.preferred) throw refused('failed to find the extended preferred hint');
    chosen = extended;
  }
  if (breaksGroups(machine, nodes.numa.idsOf(chosen.mask)))
    throw refused('preferred hint violates NUMA node allocation');
  return chosen;
}

function isEnough(numa: NumaNodes, machine: MachineState, requests: MemoryRequests, mask: NumaMask): boolean {
  const ids = numa.idsOf(mask);
  return [...requests].every(([type, bytes]) => freeOn(machine, ids, type) >= bytes);
}

function reusableMemory(
  numa: NumaNodes,
  entries: MemoryEntries,
  pod: Pod,
  container: string,
): ReusableMemory {
  const found = new Map<NumaMask, Map<string, number>>();
  for (const { name } of endedInitContainers(pod, container))
    for (const { numaAffinity, size, type } of blocksOf(entries, podUid(pod), name) ?? []) {
      const mask = numa.maskOf(numaAffinity);
      const held = found.get(mask) ?? new Map<string, number>();
      found.set(mask, held.set(type, (held.get(type) ?? 0) + size));
    }
  return found;
}

/** Shrinks the blocks of ended init containers by what this block reuses of them. */
function reuse(entries: MemoryEntries, pod: Pod, container: string, block: MemoryBlock): MemoryEntries {
  const uid = podUid(pod);
  let left = block.size;
  return endedInitContainers(pod, container).reduce((all, { name }) => {
    const blocks = blocksOf(all, uid, name);
    if (blocks === undefined || left === 0) return all;
    const shrunk = blocks.map((each) => {
      if (each.type !== block.type || !sameNodes(each.numaAffinity, block.numaAffinity)) return each;
      const reused = Math.min(left, each.size);
      left -= reused;
      return { ...each, size: each.size - reused };
    });
    return withBlocks(all, uid, name, shrunk);
  }, entries);
}

function refused(why: string): KubeletError {
  return new KubeletError('conflict', 'UnexpectedAdmissionError', `[memorymanager] ${why}`);
}
