// Reads the usage of pods with running containers: memory and processes from their cgroups, and on request their disk usage.
// Stateless but for calls that hang. Invariants: the runtime is queried only for disk usage, and for containers without a cgroup on
// this machine; an unknown figure is undefined, never 0; a pod without any figure is omitted.
// Upstream: the pods of the summary that pkg/kubelet/eviction reads.
import type { ContainerStats } from '../../api/cri/generated/runtime/v1/api.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { CgroupReader } from '../../api/ports/cgroup-usage.ts';
import type { FilesUsage } from '../../api/ports/host-usage.ts';
import type { ContainerLoad, NodeLoadSource, PodLoad } from '../../api/ports/node-usage.ts';
import { Slices, type SlicesDeps } from '../../base/slices.ts';
import { type CgroupPlaces, findContainerCgroups, findPodCgroups } from '../collect/cgroup-places.ts';
import type { PodFiles } from '../collect/collect-disk.ts';
import { usageOfStats } from '../collect/runtime-usage.ts';
import { type PickedPod, pickPods } from '../pick-pods.ts';
import { ephemeralUsed } from '../summary/summarize-disk.ts';
import { type MeasuredDisk, type PodDiskDeps, PodDisks } from './pod-disk.ts';

export interface PodLoadsDeps extends PodDiskDeps, Pick<SlicesDeps, 'pause'> {
  readonly observed: { all(): ReadonlyMap<unknown, ObservedPod> };
  readonly cgroups: Pick<CgroupReader, 'memory' | 'tasks' | 'children' | 'processes'> | undefined;
  readonly places: CgroupPlaces | undefined;
}

interface KernelLoad {
  readonly picked: PickedPod;
  readonly workingSetBytes: number | undefined;
  readonly processes: number | undefined;
  /** Working sets by container ID. */
  readonly containers: ReadonlyMap<string, number>;
}

type PodsRequest = Parameters<NodeLoadSource['pods']>[0];

export class PodLoads {
  readonly #deps: PodLoadsDeps;
  readonly #disks: PodDisks;

  constructor(deps: PodLoadsDeps) {
    this.#deps = deps;
    this.#disks = new PodDisks(deps);
  }

  async read(
    { disk, only }: PodsRequest,
    signal: AbortSignal,
    faults: string[],
  ): Promise<ReadonlyMap<PodUid, PodLoad>> {
    const running = pickPods(this.#deps.observed.all().values());
    const pods = only === undefined ? running : running.filter(({ pod }) => only.has(pod.uid));
    if (pods.length === 0) return new Map();
    const measured = disk ? this.#disks.measure(pods, signal, faults) : undefined;
    const query = (some: readonly PickedPod[]): Promise<ReadonlyMap<string, ContainerStats>> =>
      some.length === 0
        ? Promise.resolve(new Map())
        : this.#disks.containers(some, some.length * 2 > running.length, { faults, signal });
    const early = disk ? query(pods) : undefined;
    const loads = await this.#kernelLoads(pods);
    const incomplete = loads.filter((load) => !isComplete(load)).map(({ picked }) => picked);
    const stats = await (early ?? query(incomplete));
    const disks = await measured;
    const found = loads.map((load) => podLoad(load, stats, disks));
    return new Map(found.filter(isKnown).map((load) => [load.uid, load]));
  }

  async #kernelLoads(pods: readonly PickedPod[]): Promise<readonly KernelLoad[]> {
    const { cgroups, places } = this.#deps;
    const slices = new Slices(this.#deps);
    const paths: ReadonlyMap<string, string> =
      cgroups === undefined || places === undefined ? new Map() : findPodCgroups(cgroups, places);
    const loads: KernelLoad[] = [];
    for (const picked of pods) {
      await slices.yieldIfDue();
      loads.push(this.#kernelLoad(picked, paths.get(picked.pod.uid)));
    }
    return loads;
  }

  #kernelLoad(picked: PickedPod, path: string | undefined): KernelLoad {
    const { cgroups } = this.#deps;
    const containers = new Map<string, number>();
    if (cgroups === undefined || path === undefined)
      return { picked, workingSetBytes: undefined, processes: undefined, containers };
    const paths = findContainerCgroups(cgroups, path);
    for (const { id } of picked.containers) {
      const own = paths.get(id);
      const memory = own === undefined ? undefined : cgroups.memory(own);
      if (memory !== undefined) containers.set(id, memory.workingSetBytes);
    }
    const workingSetBytes = cgroups.memory(path)?.workingSetBytes;
    // Without the pids controller: processes of the containers, without their threads.
    const listed = (): number =>
      [path, ...paths.values()].reduce((sum, each) => sum + cgroups.processes(each).length, 0);
    const processes = cgroups.tasks(path) ?? (workingSetBytes === undefined ? undefined : listed());
    return { picked, workingSetBytes, processes, containers };
  }
}

function isComplete({ containers, picked, workingSetBytes }: KernelLoad): boolean {
  return workingSetBytes !== undefined && picked.containers.every(({ id }) => containers.has(id));
}

/** Whether anything is known of the pod. */
function isKnown({ ephemeralBytes, processes, workingSetBytes }: PodLoad): boolean {
  return workingSetBytes !== undefined || processes !== undefined || ephemeralBytes !== undefined;
}

function podLoad(
  { containers: kernel, picked, processes, workingSetBytes }: KernelLoad,
  stats: ReadonlyMap<string, ContainerStats>,
  disks: MeasuredDisk | undefined,
): PodLoad {
  const { uid } = picked.pod;
  const files = disks?.files.get(uid);
  const volumes = disks?.volumes.get(uid) ?? [];
  const containers = picked.containers.map(({ id, name }) =>
    containerLoad(
      name,
      kernel.get(id),
      disks === undefined ? undefined : files?.logs.get(name),
      stats.get(id),
    ),
  );
  const known = containers.flatMap((each) => each.workingSetBytes ?? []);
  const sum = known.length === 0 ? undefined : known.reduce((total, bytes) => total + bytes, 0);
  const used = files === undefined ? undefined : ephemeral(files, volumes, containers);
  return {
    uid,
    workingSetBytes: workingSetBytes ?? sum,
    ephemeralBytes: used?.bytes,
    ephemeralInodes: used?.inodes,
    processes,
    containers,
    volumes,
  };
}

function containerLoad(
  name: string,
  workingSetBytes: number | undefined,
  logs: FilesUsage | undefined,
  stats: ContainerStats | undefined,
): ContainerLoad {
  const { usedBytes, inodesUsed } = stats?.writableLayer ?? {};
  return {
    name,
    workingSetBytes: workingSetBytes ?? (stats && usageOfStats(stats).memory?.workingSetBytes),
    writtenBytes: usedBytes === undefined ? undefined : Number(usedBytes.value),
    writtenInodes: inodesUsed === undefined ? undefined : Number(inodesUsed.value),
    logBytes: logs?.bytes ?? 0,
    logInodes: logs?.inodes ?? 0,
  };
}

function ephemeral(files: PodFiles, volumes: PodLoad['volumes'], containers: readonly ContainerLoad[]) {
  const written = containers.map(({ writtenBytes, writtenInodes }) => ({
    bytes: writtenBytes,
    inodes: writtenInodes,
  }));
  return ephemeralUsed({ ...files, volumes }, written);
}
