// Collects CPU and memory usage of the node, its pods and their containers. Owns the CPU rates.
// Invariants: nothing is read unless requested; a cgroup that disappears during the collection is omitted; the runtime is
// queried only for containers without a cgroup on this machine. Upstream: cadvisor's housekeeping and pkg/kubelet/stats.

import type { ContainerStats } from '../../api/cri/generated/runtime/v1/api.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import type { CgroupReader, CgroupUsage } from '../../api/ports/cgroup-usage.ts';
import type { Clock } from '../../base/clock.ts';
import { Slices, type SlicesDeps } from '../../base/slices.ts';
import { type PickedPod, pickPods } from '../pick-pods.ts';
import { type CgroupPlaces, findContainerCgroups, findPodCgroups } from './cgroup-places.ts';
import { CpuRates } from './cpu-rates.ts';
import type { Fetched } from './runtime-stats.ts';
import { sumOfUsages, usageOfStats } from './runtime-usage.ts';

export interface Measured extends CgroupUsage {
  /** Undefined: CPU time is not accounted. */
  readonly nanoCores: number | undefined;
}

export interface ContainerUsage {
  readonly container: ObservedContainer;
  readonly usage: Measured | undefined;
  /** Undefined: the container has no cgroup on this machine. */
  readonly path: string | undefined;
}

export interface PodUsageParts extends Omit<PickedPod, 'containers'> {
  readonly usage: Measured | undefined;
  readonly path: string | undefined;
  /** The sandbox's own cgroup. */
  readonly sandboxPath: string | undefined;
  readonly containers: readonly ContainerUsage[];
}

export interface SystemUsage {
  readonly name: string;
  readonly startedAtMs: number;
  readonly usage: Measured;
}

export interface CollectedUsage {
  readonly atMs: number;
  readonly node: Measured | undefined;
  readonly system: readonly SystemUsage[];
  readonly pods: readonly PodUsageParts[];
  readonly faults: readonly string[];
}

/** A cgroup of the node that is reported by name. `startedAtMs` overrides the kernel's creation time. */
export interface SystemCgroup {
  readonly name: string;
  readonly path: string;
  readonly startedAtMs?: number;
}

export interface CollectUsageDeps extends SlicesDeps {
  readonly observed: { all(): ReadonlyMap<unknown, ObservedPod> };
  /** Undefined: the machine has no cgroups. */
  readonly cgroups: CgroupReader | undefined;
  /** Undefined: pods have no cgroups of their own. */
  readonly places: CgroupPlaces | undefined;
  readonly system: () => readonly SystemCgroup[];
  readonly bootedAtMs: number;
  readonly fetchContainers: () => Promise<Fetched<ReadonlyMap<string, ContainerStats>>>;
  readonly clock: Clock;
}

export class CollectUsage {
  readonly #deps: CollectUsageDeps;
  readonly #rates = new CpuRates();

  constructor(deps: CollectUsageDeps) {
    this.#deps = deps;
  }

  async collect(): Promise<CollectedUsage> {
    const { bootedAtMs, cgroups, clock, observed, places } = this.#deps;
    const slices = new Slices(this.#deps);
    const atMs = clock.now();
    const node = this.#measure('/', bootedAtMs);
    const system = this.#system(bootedAtMs);
    const podPaths =
      cgroups === undefined || places === undefined ? new Map() : findPodCgroups(cgroups, places);
    const pods: PodUsageParts[] = [];
    for (const picked of pickPods(observed.all().values())) {
      await slices.yieldIfDue();
      pods.push(this.#pod(picked, podPaths.get(picked.pod.uid)));
    }
    const { faults, pods: complete } = await this.#fetchMissing(pods);
    this.#rates.endRound();
    return { atMs, node, system, pods: complete, faults };
  }

  #pod({ containers, pod, sandbox }: PickedPod, path: string | undefined): PodUsageParts {
    const { cgroups } = this.#deps;
    const paths: ReadonlyMap<string, string> =
      cgroups === undefined || path === undefined ? new Map() : findContainerCgroups(cgroups, path);
    return {
      pod,
      sandbox,
      path,
      usage: path === undefined ? undefined : this.#measure(path, sandbox.createdAtMs),
      sandboxPath: paths.get(sandbox.id),
      containers: containers.map((container) => {
        const own = paths.get(container.id);
        const usage = own === undefined ? undefined : this.#measure(own, container.startedAtMs);
        return { container, path: own, usage };
      }),
    };
  }

  #system(bootedAtMs: number): readonly SystemUsage[] {
    return this.#deps.system().flatMap(({ name, path, startedAtMs }) => {
      const startMs = startedAtMs ?? this.#deps.cgroups?.createdAtMs(path) ?? bootedAtMs;
      // The age of these cgroups is unknown: the kernel dates a cgroup when it is first accessed.
      const usage = this.#measure(path, undefined);
      return usage === undefined ? [] : [{ name, startedAtMs: Math.max(startMs, bootedAtMs), usage }];
    });
  }

  /** `startMs`: undefined unless known for certain. */
  #measure(path: string, startMs: number | undefined): Measured | undefined {
    const usage = this.#deps.cgroups?.usage(path);
    return usage === undefined ? undefined : this.#rated(path, usage, startMs);
  }

  #rated(key: string, usage: CgroupUsage, startMs: number | undefined): Measured {
    const { clock } = this.#deps;
    const { cpuNs } = usage;
    if (cpuNs === undefined) return { ...usage, nanoCores: undefined };
    const ageMs = startMs === undefined ? undefined : clock.now() - startMs;
    const sample = { cpuNs, atMs: clock.monotonic(), ageMs };
    return { ...usage, nanoCores: this.#rates.observe(key, sample) };
  }

  /** Fills in containers of other kernels (virtual machines) and pods without a cgroup from the runtime's statistics. */
  async #fetchMissing(pods: readonly PodUsageParts[]): Promise<Pick<CollectedUsage, 'pods' | 'faults'>> {
    const isComplete = ({ containers, usage }: PodUsageParts): boolean =>
      usage !== undefined && containers.every((each) => each.usage !== undefined);
    if (pods.every(isComplete)) return { pods, faults: [] };
    const { fault, value } = await this.#deps.fetchContainers();
    const complete = pods.map((parts) => (isComplete(parts) ? parts : this.#completed(parts, value)));
    return { pods: complete, faults: fault === undefined ? [] : [fault] };
  }

  #completed(parts: PodUsageParts, stats: ReadonlyMap<string, ContainerStats>): PodUsageParts {
    const containers = parts.containers.map((each) => {
      const reported = each.usage === undefined ? stats.get(each.container.id) : undefined;
      if (reported === undefined) return each;
      return {
        ...each,
        usage: this.#rated(each.container.id, usageOfStats(reported), each.container.startedAtMs),
      };
    });
    const usages = containers.flatMap(({ usage }) => usage ?? []);
    const sum = parts.usage === undefined ? sumOfUsages('', usages) : undefined;
    const nanoCores = usages.reduce((total, usage) => total + (usage.nanoCores ?? 0), 0);
    return { ...parts, containers, usage: parts.usage ?? (sum && { ...sum, nanoCores }) };
  }
}
