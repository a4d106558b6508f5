// Memory and disk of a node in memory: pods use what the test sets for as long as their containers run, so that an eviction frees it.
// Invariant: cgroups exist as the fake runtime's containers do, as the kernel's would.
import { ContainerState } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CgroupReader, MemoryLoad } from '../../src/api/ports/cgroup-usage.ts';
import type { FakeContainer } from '../fake-cri/state.ts';
import { fakeStatsEdge } from '../fakes/fake-stats-edge.ts';
import type { FakeNode } from './fake-node.ts';

const mib = 1024 ** 2;
const capacityBytes = 100 * 1024 * mib;

export class NodePressure {
  readonly #node: FakeNode;
  readonly #memory = new Map<string, number>();

  constructor(node: FakeNode) {
    this.#node = node;
    const reader: CgroupReader = {
      version: 1,
      usage: () => undefined,
      details: () => undefined,
      memory: (path) => this.#load(path),
      load: (path) => ({ cpuNs: 0, workingSetBytes: this.#load(path).workingSetBytes }),
      tasks: (path) => this.#within(path).length,
      children: (path) => this.#children(path),
      processes: () => [],
      createdAtMs: () => undefined,
    };
    node.statsEdge = { ...fakeStatsEdge, cgroups: reader };
  }

  /** The memory of every container of a pod, while it runs. */
  uses(pod: string, bytes: number): void {
    this.#memory.set(pod, bytes);
  }

  /** Makes this available on every file system of the node, of 100 GiB; the function is called for each measurement. */
  setDisk(available: () => number): void {
    this.#node.measureSpace = () => {
      const availableBytes = available();
      const usedBytes = capacityBytes - availableBytes;
      return { capacityBytes, availableBytes, usedBytes, inodes: 1_000, inodesFree: 900 };
    };
  }

  #load(path: string): MemoryLoad {
    const own = this.#within(path === '/' ? '' : path);
    const used = own.reduce((sum, each) => sum + this.#bytesOf(each), 0);
    const limitBytes = path === '/' ? Number(this.#node.capacity.memoryBytes) : Number.POSITIVE_INFINITY;
    return { usageBytes: used, workingSetBytes: used, limitBytes };
  }

  #bytesOf({ sandbox, state }: FakeContainer): number {
    if (state !== ContainerState.CONTAINER_RUNNING) return 0;
    return this.#memory.get(sandbox.config.metadata?.name ?? '') ?? mib;
  }

  #within(path: string): readonly FakeContainer[] {
    return this.#node.cri
      .containers()
      .filter((each) => cgroupOf(each).startsWith(`${path}/`) || cgroupOf(each) === path);
  }

  #children(path: string): readonly string[] {
    const next = this.#within(path).map(
      (each) =>
        cgroupOf(each)
          .slice(path.length + 1)
          .split('/')[0] ?? '',
    );
    return [...new Set(next)].filter((name) => name !== '').map((name) => `${path}/${name}`);
  }
}

function cgroupOf({ id, sandbox }: FakeContainer): string {
  return `${sandbox.config.linux?.cgroupParent ?? ''}/${id}`;
}
