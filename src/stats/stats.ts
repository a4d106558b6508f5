// Serves resource usage of node, pods and containers to scrapers: the summary, /metrics/resource, /metrics/cadvisor. Eviction reads
// load/ instead. Owns the collections. Invariants: nothing is collected unless requested; callers within 10 s share a collection;
// what cannot be collected in time is omitted and reported as a fault. Upstream: pkg/kubelet/stats, pkg/kubelet/server/stats.
import type { FileSystemSpace } from '../api/ports/volume-host.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { Aborted, describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { MachineEntry } from './cadvisor/cadvisor-entry.ts';
import { renderCadvisor } from './cadvisor/cadvisor-metrics.ts';
import { type CollectCadvisorDeps, collectCadvisor } from './cadvisor/collect-cadvisor.ts';
import { CollectDisk, type CollectDiskDeps, type CollectedDisk } from './collect/collect-disk.ts';
import { type CollectedNetwork, type CollectNetworkDeps, collectNetwork } from './collect/collect-network.ts';
import { type CollectedUsage, CollectUsage, type CollectUsageDeps } from './collect/collect-usage.ts';
import { RuntimeStats, type RuntimeStatsDeps } from './collect/runtime-stats.ts';
import { pickPods } from './pick-pods.ts';
import { renderResourceMetrics } from './resource-metrics.ts';
import { Shared } from './shared.ts';
import { type Collected, type SummarySettings, summarize, summarizeUsage } from './summary/summarize.ts';
import type { Summary } from './summary/summary.ts';
import type { UnreadableFiles } from './unreadable-files.ts';

type HostReader = CollectDiskDeps['host'] &
  CollectNetworkDeps['host'] &
  CollectCadvisorDeps['host'] & {
    tasks(): Collected['tasks'];
    defaultInterface(): string | undefined;
  };

export interface StatsDeps {
  readonly observed: CollectUsageDeps['observed'];
  readonly runtime: RuntimeStatsDeps['runtime'];
  readonly volumes: CollectDiskDeps['volumes'];
  /** Reads the kernel's files. */
  readonly readers: Pick<CollectUsageDeps, 'cgroups' | 'pause'> & {
    readonly host: HostReader;
    readonly unreadable: UnreadableFiles;
  };
  /** Paths and constant facts of this node. */
  readonly node: Pick<CollectUsageDeps, 'places' | 'system'> &
    Pick<CollectDiskDeps, 'rootDir' | 'podLogsDir'> &
    Pick<CollectCadvisorDeps, 'sandboxImage'> & { readonly machine: () => Promise<MachineEntry> };
  readonly settings: SummarySettings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** cadvisor's housekeeping interval. */
const maxAgeMs = 10_000;
/** Maximum age of a part, so that figures reported together were measured nearly together. */
const maxPartAgeMs = 5_000;
const spaceDeadlineMs = 2_000;

export class Stats implements Component {
  readonly name = 'stats';
  readonly #deps: StatsDeps;
  readonly #stopping = new AbortController();
  readonly #usage: Shared<CollectedUsage>;
  readonly #disk: Shared<CollectedDisk>;
  readonly #network: Shared<CollectedNetwork>;
  readonly #all: Shared<Collected>;
  readonly #cadvisor: Shared<string>;
  #lastFaults = '';

  constructor(deps: StatsDeps) {
    this.#deps = deps;
    const { clock, node, readers, settings } = deps;
    const runtimeStats = new RuntimeStats(deps);
    const shared = <T>(compute: () => Promise<T>): Shared<T> => new Shared(clock, maxAgeMs, compute);
    const containers = shared(() => runtimeStats.containers(this.#stopping.signal));
    const collectUsage = new CollectUsage({
      observed: deps.observed,
      cgroups: readers.cgroups,
      places: node.places,
      system: node.system,
      pause: readers.pause,
      clock,
      bootedAtMs: settings.bootedAtMs,
      fetchContainers: () => containers.get(maxPartAgeMs),
    });
    const collectDisk = new CollectDisk({ ...node, volumes: deps.volumes, host: readers.host, clock });
    this.#usage = shared(() => this.#withFaults(() => collectUsage.collect()));
    this.#disk = shared(() =>
      collectDisk.collect(pickPods(deps.observed.all().values()), this.#stopping.signal),
    );
    this.#network = shared(async () => {
      const { pods } = await this.#usage.get(maxPartAgeMs);
      const fetchSandboxes = () => runtimeStats.sandboxes(this.#stopping.signal);
      return collectNetwork({ ...readers, clock, fetchSandboxes }, pods);
    });
    this.#all = shared(() => this.#collectAll(containers, runtimeStats));
    this.#cadvisor = shared(() => this.#renderCadvisor());
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const stopped = untilAborted(signal).then(() =>
      this.#stopping.abort(new Aborted('the kubelet is stopping')),
    );
    return Promise.resolve({ stopped });
  }

  async summary(onlyCpuAndMemory: boolean): Promise<Summary> {
    const { settings } = this.#deps;
    return onlyCpuAndMemory
      ? summarizeUsage(await this.#usage.get(), settings)
      : summarize(await this.#all.get(), settings);
  }

  async resourceMetrics(): Promise<string> {
    return renderResourceMetrics(await this.#usage.get());
  }

  cadvisorMetrics(): Promise<string> {
    return this.#cadvisor.get();
  }

  /** Disk usage of the pods' logs and volumes. */
  disk(): Promise<CollectedDisk> {
    return this.#disk.get();
  }

  async #collectAll(
    containerStats: Shared<Awaited<ReturnType<RuntimeStats['containers']>>>,
    runtimeStats: RuntimeStats,
  ): Promise<Collected> {
    const { clock } = this.#deps;
    const { host } = this.#deps.readers;
    const [usage, disk, network, containers, images] = await Promise.all([
      this.#usage.get(maxPartAgeMs),
      this.#disk.get(maxPartAgeMs),
      this.#network.get(maxPartAgeMs),
      containerStats.get(maxPartAgeMs),
      runtimeStats.images(this.#stopping.signal),
    ]);
    const named = [images.value, ...[...containers.value.values()].map((stats) => stats.writableLayer)];
    const faults = [...usage.faults, ...disk.faults, ...network.faults];
    for (const { fault } of [containers, images]) if (fault !== undefined) faults.push(fault);
    const spaces = await this.#spaces(new Set(named.flatMap((each) => each?.fsId?.mountpoint ?? [])), faults);
    this.#logFaults(faults);
    return {
      usage,
      disk,
      network,
      containers: containers.value,
      imageFs: images.value,
      spaces,
      tasks: host.tasks(),
      defaultInterface: host.defaultInterface(),
      atMs: clock.now(),
      faults,
    };
  }

  async #spaces(
    mountPoints: ReadonlySet<string>,
    faults: string[],
  ): Promise<ReadonlyMap<string, FileSystemSpace>> {
    const { clock } = this.#deps;
    const { host } = this.#deps.readers;
    const found = new Map<string, FileSystemSpace>();
    const { signal } = this.#stopping;
    for (const path of mountPoints) {
      const what = `file system of ${path}`;
      try {
        found.set(
          path,
          await withDeadline({ clock, ms: spaceDeadlineMs, signal, what }, () => host.space(path)),
        );
      } catch (err) {
        faults.push(`${what}: ${describeError(err)}`);
      }
    }
    return found;
  }

  async #renderCadvisor(): Promise<string> {
    const { clock, node, readers, settings } = this.#deps;
    const usage = await this.#usage.get(maxPartAgeMs);
    const network = await this.#network.get(maxPartAgeMs);
    const { entries, faults } = await this.#withFaults(async () => ({
      entries: await collectCadvisor(
        { ...readers, ...node, clock, bootedAtMs: settings.bootedAtMs },
        usage,
        network,
      ),
      faults: [...usage.faults, ...network.faults],
    }));
    const scrape = {
      machine: await node.machine(),
      entries,
      atMs: clock.now(),
      failed: faults.length > 0,
    };
    return renderCadvisor(scrape, { psi: settings.psi, slices: { pause: readers.pause, clock } });
  }

  /** Adds the kernel files that could not be read during the collection. */
  async #withFaults<T extends { readonly faults: readonly string[] }>(collect: () => Promise<T>): Promise<T> {
    const { unreadable } = this.#deps.readers;
    unreadable.clear();
    const collected = await collect();
    const faults = [...collected.faults, ...unreadable.faults()];
    this.#logFaults(faults);
    return { ...collected, faults };
  }

  /** Logs faults only when they change. */
  #logFaults(faults: readonly string[]): void {
    const text = faults.join('; ');
    if (text === this.#lastFaults) return;
    this.#lastFaults = text;
    if (text !== '') this.#deps.log.warn('Failed to collect some statistics', { faults: faults.slice(0, 5) });
  }
}
