// The memory manager: with the policy Static, the memory of containers of Guaranteed pods comes from as few NUMA nodes as possible
// and is accounted per node; with None, containers use all nodes. Upstream: pkg/kubelet/cm/memorymanager/memory_manager.go.
// Owns memory_manager_state (sole writer). Invariants: a container is created only after `saved`; a container keeps its nodes until
// its pod is released; only a wrong configuration keeps the kubelet from starting, never the content of the file.
import { join } from 'node:path';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { asPodUid, type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { MachineTopology } from '../../api/ports/machine-topology.ts';
import type { ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { KeptCheckpoint, type KeptFiles } from '../checkpoint/kept-checkpoint.ts';
import type { HintProvider, ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import { mostNumaNodes, NumaNodes } from '../topology/numa-nodes.ts';
import { type AssignedMemory, blocksOf, releaseContainer, releasePod } from './memory-blocks.ts';
import { type MemoryNodes, noHints } from './memory-hints.ts';
import { initialMachineState, type MemoryReservation } from './memory-machine.ts';
import type { MemoryManagerMetrics } from './memory-manager-metrics.ts';
import { type MemoryRecoveryDeps, restoreMemory } from './memory-recovery.ts';
import { endedInitContainers, hasOwnMemory } from './memory-requests.ts';
import { decodeMemoryState, encodeMemoryState, type MemoryBlock, type MemoryState } from './memory-state.ts';
import type { MemoryPolicy } from './recover-memory-state.ts';
import { AdoptablePods } from './running-memory.ts';
import { assignMemory, containerMemoryHints, memoryToAssign, podMemoryHints } from './static-policy.ts';

interface MemoryManagerDeps extends MemoryRecoveryDeps {
  readonly files: KeptFiles;
  readonly rootDir: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly metrics: MemoryManagerMetrics;
  /** memoryManagerPolicy. */
  readonly policy: string;
  readonly reservedMemory: readonly MemoryReservation[];
  /** What node allocatable keeps from pods: kubeReserved, systemReserved and the hard eviction threshold. */
  readonly nodeReservation: ResourceAmounts;
  readonly topology: () => Promise<MachineTopology>;
}

export class MemoryManager implements Component, HintProvider {
  readonly name = 'memory-manager';
  readonly #deps: MemoryManagerDeps;
  readonly #path: string;
  readonly #file: KeptCheckpoint<MemoryState>;
  /** Undefined with the policy None. */
  #nodes: MemoryNodes | undefined;
  #assigned: AssignedMemory = { machineState: {}, entries: {} };
  #adoptable = new AdoptablePods();

  constructor(deps: MemoryManagerDeps) {
    this.#deps = deps;
    this.#path = join(deps.rootDir, 'memory_manager_state');
    this.#file = new KeptCheckpoint({
      files: deps.files,
      clock: deps.clock,
      path: this.#path,
      decode: decodeMemoryState,
      encode: () => encodeMemoryState({ policyName: deps.policy, ...this.#assigned }),
      onError: (err) =>
        deps.log.error('Failed to write the state of the memory manager', { path: this.#path, err }),
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const policy = policyOf(this.#deps.policy);
    const initial = policy === 'Static' ? await this.#initialState() : {};
    const loaded = await this.#file.load();
    const restored = await restoreMemory(this.#deps, policy, initial, loaded, this.#path);
    this.#assigned = restored.assigned;
    this.#adoptable = restored.adoptable;
    this.#file.save();
    // The failure is logged. Containers wait for `saved`.
    await this.saved().catch(() => undefined);
    return { stopped: this.#flushAfter(signal) };
  }

  /** Throws upstream's errors of a configuration that does not match the machine. */
  async #initialState(): Promise<AssignedMemory['machineState']> {
    const { nodeReservation, reservedMemory, topology } = this.#deps;
    const machine = await topology();
    if (machine.nodes.length > mostNumaNodes)
      throw invalid(`unsupported on machines with more than ${mostNumaNodes} NUMA Nodes`);
    const state = initialMachineState(machine, nodeReservation, reservedMemory);
    const numa = new NumaNodes(machine.nodes);
    this.#nodes = { numa, masks: numa.subsets() };
    return state;
  }

  async #flushAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.saved().catch(() => undefined);
    await this.#file.flush();
  }

  containerHints(pod: Pod, container: Container): ResourceHints {
    const nodes = this.#nodes;
    if (nodes === undefined || !this.#isBound(pod)) return noHints;
    const requests = readable(() => memoryToAssign(this.#assigned, pod, container));
    if (requests === undefined) return noHints;
    return containerMemoryHints(nodes, this.#assigned, pod, container, requests);
  }

  podHints(pod: Pod): ResourceHints {
    const nodes = this.#nodes;
    if (nodes === undefined || !this.#isBound(pod)) return noHints;
    return readable(() => podMemoryHints(nodes, this.#assigned, pod)) ?? noHints;
  }

  /** A pod that ran before this kubelet started has no preference: its containers stay where they are. */
  #isBound(pod: Pod): boolean {
    return hasOwnMemory(pod) && !this.#adoptable.has(podUid(pod));
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    const nodes = this.#nodes;
    if (nodes === undefined || !hasOwnMemory(pod)) return;
    const { log, metrics } = this.#deps;
    const uid = podUid(pod);
    const wasRunning = (name: string): boolean => this.#adoptable.wasRunning(uid, name);
    const requests = memoryToAssign(this.#assigned, pod, container, wasRunning);
    if (requests.size === 0) return;
    metrics.requested();
    try {
      this.#change(
        this.#adoptable.complete(this.#assigned, uid, container.name, requests) ??
          assignMemory(nodes, this.#assigned, pod, container, requests, hint),
      );
      this.#adoptable.completed(uid, container.name);
    } catch (err) {
      metrics.failed();
      if (!this.#adoptable.has(uid)) throw err;
      const fields = { pod: podRef(pod), container: container.name, err };
      log.warn('Kept a running pod although a container has no memory of its own', fields);
    }
  }

  /** The container is about to run: the init containers before it have ended and return their memory. */
  started(pod: Pod, container: string): void {
    const ended = endedInitContainers(pod, container);
    this.#change(
      ended.reduce((state, { name }) => releaseContainer(state, podUid(pod), name), this.#assigned),
    );
  }

  release(uid: PodUid): void {
    this.#adoptable.release(uid);
    this.#change(releasePod(this.#assigned, uid));
  }

  #change(assigned: AssignedMemory): void {
    if (assigned === this.#assigned) return;
    this.#assigned = assigned;
    this.#file.save();
  }

  holders(): readonly PodUid[] {
    const assigned = Object.keys(this.#assigned.entries).map(asPodUid);
    return [...new Set([...assigned, ...this.#adoptable.uids()])];
  }

  /** The memory of a container; empty if it has none of its own. */
  blocks(uid: PodUid, container: string): readonly MemoryBlock[] {
    return blocksOf(this.#assigned.entries, uid, container) ?? [];
  }

  /** cpuset.mems of a container, such as `0,1`; undefined if it may use all nodes. */
  memoryNodes(uid: PodUid, container: string): string | undefined {
    const nodes = new Set(this.blocks(uid, container).flatMap(({ numaAffinity }) => numaAffinity));
    return nodes.size === 0 ? undefined : [...nodes].toSorted((a, b) => a - b).join(',');
  }

  /** The memory of each NUMA node that containers can get, assigned or not. */
  allocatable(): readonly MemoryBlock[] {
    return (this.#nodes?.numa.ids ?? []).flatMap((id) =>
      Object.entries(this.#assigned.machineState[id]?.memoryMap ?? {})
        .filter(([, { allocatable }]) => allocatable > 0)
        .map(([type, { allocatable }]) => ({ numaAffinity: [id], type, size: allocatable }))
        .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    );
  }

  /** Resolves when all assignments are in the file. Rejects if the write failed. */
  async saved(): Promise<void> {
    await this.#file.saved();
  }
}

function policyOf(text: string): MemoryPolicy {
  if (text === 'None' || text === 'Static') return text;
  if (text === 'BestEffort') throw invalid('policy "BestEffort" is not available for platform "linux"');
  throw invalid(`unknown policy: ${JSON.stringify(text)}`);
}

/** Requests that cannot be represented give no hints; the allocation reports them. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'MemoryManager', message);
}
