// The NUMA nodes that running containers really use, read once when the state of an earlier kubelet was lost or no longer applies.
// No counterpart upstream. Invariant: a container that already runs is neither moved to other nodes (its pages would have to be
// copied) nor rejected because the machine has no room for it any more.
import type { ContainerId, PodUid } from '../../api/pod/pod-ref.ts';
import { parseCpuList } from '../../api/quantity/cpu-list.ts';
import { type AssignedMemory, blocksOf, sameNodes } from './memory-blocks.ts';
import type { MemoryRequests } from './memory-requests.ts';
import type { MemoryBlock } from './memory-state.ts';
import { keepBlocks } from './recover-memory-state.ts';

/** A running container of a Guaranteed pod. */
export interface RunningContainer {
  readonly uid: PodUid;
  /** `namespace/name`. */
  readonly pod: string;
  readonly container: string;
  readonly id: ContainerId;
  /** As the runtime reports it; undefined if it does not. */
  readonly memoryLimitBytes?: number | undefined;
}

/** A running container with the nodes of its cpuset.mems; undefined if it is not bound to any. */
export interface BoundContainer extends RunningContainer {
  readonly nodes: readonly number[] | undefined;
}

/** Reads the nodes of all containers. One that cannot be read counts as not bound. */
export async function readBoundNodes(
  running: readonly RunningContainer[],
  cpusetMemsOf: (id: ContainerId) => Promise<string | undefined>,
): Promise<readonly BoundContainer[]> {
  return Promise.all(
    running.map(async (each) => {
      const mems = await cpusetMemsOf(each.id).catch(() => undefined);
      const nodes = parseCpuList(mems ?? '');
      return { ...each, nodes: nodes.length === 0 ? undefined : nodes };
    }),
  );
}

interface AdoptedMemory {
  readonly assigned: AssignedMemory;
  /** Containers whose assignment is unknown or has only the memory limit until their pod is admitted. */
  readonly incomplete: readonly BoundContainer[];
  /** Those that are not bound to the nodes of their assignment. */
  readonly unbound: readonly BoundContainer[];
}

/** Makes the assignments follow what running containers use. */
export function adoptRunning(before: AssignedMemory, running: readonly BoundContainer[]): AdoptedMemory {
  let assigned = before;
  const incomplete: BoundContainer[] = [];
  const unbound: BoundContainer[] = [];
  for (const each of running) {
    const { container, memoryLimitBytes, nodes, uid } = each;
    const blocks = blocksOf(assigned.entries, uid, container);
    if (nodes !== undefined && blocks !== undefined && isOn(blocks, nodes)) continue;
    const known =
      blocks === undefined && memoryLimitBytes !== undefined ? [memory(memoryLimitBytes)] : blocks;
    const moved =
      nodes === undefined ? undefined : known?.map((block) => ({ ...block, numaAffinity: nodes }));
    const kept = moved === undefined ? undefined : keepBlocks(assigned, uid, container, moved);
    if (kept !== undefined) assigned = kept;
    if (blocks === undefined) incomplete.push(each);
    if (nodes === undefined || (kept === undefined && known !== undefined)) unbound.push(each);
  }
  return { assigned, incomplete, unbound };
}

function isOn(blocks: readonly MemoryBlock[], nodes: readonly number[]): boolean {
  return blocks.every(({ numaAffinity }) => sameNodes(numaAffinity, nodes));
}

function memory(size: number): MemoryBlock {
  return { numaAffinity: [], type: 'memory', size };
}

/** The pods that ran before this kubelet started and whose assignments were lost, until they are released. */
export class AdoptablePods {
  readonly #pods = new Map<PodUid, Map<string, BoundContainer | undefined>>();

  constructor(containers: readonly BoundContainer[] = []) {
    for (const each of containers)
      this.#pods.set(each.uid, (this.#pods.get(each.uid) ?? new Map()).set(each.container, each));
  }

  has(uid: PodUid): boolean {
    return this.#pods.has(uid);
  }

  wasRunning(uid: PodUid, container: string): boolean {
    return this.#pods.get(uid)?.has(container) === true;
  }

  uids(): Iterable<PodUid> {
    return this.#pods.keys();
  }

  /** Assigns what the running container requests on the nodes that it uses. Undefined if they have no room for it. */
  complete(
    before: AssignedMemory,
    uid: PodUid,
    container: string,
    requests: MemoryRequests,
  ): AssignedMemory | undefined {
    const { nodes } = this.#pods.get(uid)?.get(container) ?? {};
    if (nodes === undefined) return undefined;
    const blocks = [...requests].map(([type, size]): MemoryBlock => ({ numaAffinity: nodes, type, size }));
    return keepBlocks(before, uid, container, blocks);
  }

  /** The container has its assignment. */
  completed(uid: PodUid, container: string): void {
    if (this.wasRunning(uid, container)) this.#pods.get(uid)?.set(container, undefined);
  }

  release(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}
