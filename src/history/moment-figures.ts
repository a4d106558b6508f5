// The figures of the node and a pod at the moment of an end: memory, pressure, disk, processes. Upstream has no counterpart.
// Invariant: never fails; a figure that cannot be read, or not in time, is omitted.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CgroupReader } from '../api/ports/cgroup-usage.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import type { Figures } from './end-record.ts';

interface MomentFiguresDeps {
  /** Undefined on a machine without cgroups. */
  readonly cgroups: Pick<CgroupReader, 'memory' | 'usage'> | undefined;
  /** Where the cgroup of a pod may be, by QoS class. */
  readonly podPaths: (uid: PodUid) => readonly string[];
  readonly tasks: () => { readonly max: number | undefined; readonly current: number | undefined };
  /** Of the file system of this path. */
  readonly space: (path: string) => Promise<{
    readonly capacityBytes: number;
    readonly availableBytes: number;
    readonly inodesFree: number;
  }>;
  readonly rootDir: string;
  readonly memoryBytes: number;
  readonly clock: Clock;
}

/** A hung file system costs one figure. */
const spaceDeadlineMs = 1_000;
/** Many ends at once share one measurement of the node. */
const maxAgeMs = 1_000;

export class MomentFigures {
  readonly #deps: MomentFiguresDeps;
  #node: { readonly atMs: number; readonly figures: Promise<Figures> } | undefined;

  constructor(deps: MomentFiguresDeps) {
    this.#deps = deps;
  }

  async read(uid: PodUid, signal: AbortSignal): Promise<Figures> {
    return { ...this.#pod(uid), ...(await this.#nodeFigures(signal)) };
  }

  #nodeFigures(signal: AbortSignal): Promise<Figures> {
    const nowMs = this.#deps.clock.monotonic();
    if (this.#node === undefined || nowMs - this.#node.atMs >= maxAgeMs) {
      this.#node = { atMs: nowMs, figures: this.#measureNode(signal) };
    }
    return this.#node.figures;
  }

  async #measureNode(signal: AbortSignal): Promise<Figures> {
    return { ...this.#memory(), ...this.#processes(), ...(await this.#disk(signal)) };
  }

  #pod(uid: PodUid): Figures {
    const { cgroups, podPaths } = this.#deps;
    for (const path of cgroups === undefined ? [] : podPaths(uid)) {
      const memory = attempt(() => cgroups?.memory(path));
      if (memory !== undefined) return { podMemoryWorkingSetBytes: memory.workingSetBytes };
    }
    return {};
  }

  #memory(): Figures {
    const { cgroups, memoryBytes } = this.#deps;
    const usage = attempt(() => cgroups?.usage('/'));
    const some = usage?.pressure?.memory.some;
    return {
      ...(usage?.memory && {
        nodeMemoryCapacityBytes: memoryBytes,
        nodeMemoryAvailableBytes: Math.max(0, memoryBytes - usage.memory.workingSetBytes),
      }),
      ...(some && { nodeMemoryPressureAvg10: some.avg10, nodeMemoryPressureAvg60: some.avg60 }),
    };
  }

  #processes(): Figures {
    const tasks = attempt(this.#deps.tasks);
    if (tasks?.current === undefined || tasks.max === undefined) return {};
    return { nodeProcesses: tasks.current, nodeProcessesMax: tasks.max };
  }

  async #disk(signal: AbortSignal): Promise<Figures> {
    const { clock, rootDir, space } = this.#deps;
    try {
      const what = `file system of ${rootDir}`;
      const room = await withDeadline({ clock, ms: spaceDeadlineMs, signal, what }, () => space(rootDir));
      return {
        nodefsCapacityBytes: room.capacityBytes,
        nodefsAvailableBytes: room.availableBytes,
        nodefsInodesFree: room.inodesFree,
      };
    } catch {
      return {};
    }
  }
}

function attempt<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
