// The figures behind the eviction signals, read from the kernel and the file systems at the moment of the call.
// Invariants: a part that fails or hangs is undefined and costs no other part; faults are logged only when they change.
// Upstream: makeSignalObservations in pkg/kubelet/eviction/helpers.go, which reads a summary.
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';
import type { TaskCounts } from '../../api/ports/host-usage.ts';
import type { NodeLoadSource, NodeSignals } from '../../api/ports/node-usage.ts';
import type { Logger } from '../../base/log/log.ts';
import { DiskRooms, type DiskRoomsDeps } from './disk-rooms.ts';
import { memoryRoom } from './memory-room.ts';
import { PodLoads, type PodLoadsDeps } from './pod-loads.ts';

export interface NodeLoadDeps extends Omit<PodLoadsDeps, 'host' | 'runtime'> {
  readonly cgroups: CgroupReader | undefined;
  readonly host: PodLoadsDeps['host'] &
    DiskRoomsDeps['host'] & { tasks(): TaskCounts; availableMemoryBytes(): number | undefined };
  readonly runtime: PodLoadsDeps['runtime'] & DiskRoomsDeps['runtime'];
  /** Memory of huge pages; 0 without the gate HugepageAwareEviction. */
  readonly hugePageBytes: number;
  readonly log: Logger;
}

export class NodeLoad implements NodeLoadSource {
  readonly #deps: NodeLoadDeps;
  readonly #rooms: DiskRooms;
  readonly #pods: PodLoads;
  readonly #logged = new Map<string, string>();

  constructor(deps: NodeLoadDeps) {
    this.#deps = deps;
    this.#rooms = new DiskRooms(deps);
    this.#pods = new PodLoads(deps);
  }

  memory(): Pick<NodeSignals, 'memory' | 'kernelAvailableBytes' | 'podMemory'> {
    const { cgroups, clock, host, hugePageBytes, places } = this.#deps;
    const atMs = clock.now();
    return {
      memory: memoryRoom(atMs, cgroups?.memory('/'), hugePageBytes),
      kernelAvailableBytes: host.availableMemoryBytes(),
      podMemory: places && memoryRoom(atMs, cgroups?.memory(places.root)),
    };
  }

  async signals(signal: AbortSignal): Promise<NodeSignals> {
    const faults: string[] = [];
    const [nodeFs, ofRuntime] = await Promise.all([
      this.#rooms.room(this.#deps.rootDir, signal, faults),
      this.#rooms.ofRuntime(signal, faults),
    ]);
    if (!signal.aborted) this.#logFaults('signals', faults);
    // After the file systems, which may take seconds.
    return { ...this.memory(), nodeFs, ...ofRuntime, processes: this.#processes() };
  }

  async pods(
    request: Parameters<NodeLoadSource['pods']>[0],
    signal: AbortSignal,
  ): ReturnType<NodeLoadSource['pods']> {
    const faults: string[] = [];
    const found = await this.#pods.read(request, signal, faults);
    if (request.disk && !signal.aborted) this.#logFaults('pods', faults);
    return found;
  }

  #processes(): NodeSignals['processes'] {
    const { current, max } = this.#deps.host.tasks();
    return max === undefined || current === undefined
      ? undefined
      : { atMs: this.#deps.clock.now(), max, current };
  }

  #logFaults(part: string, faults: readonly string[]): void {
    const text = faults.toSorted().join('; ');
    if (text === (this.#logged.get(part) ?? '')) return;
    this.#logged.set(part, text);
    if (text !== '')
      this.#deps.log.warn('Failed to measure for eviction', { part, faults: faults.slice(0, 5) });
  }
}
