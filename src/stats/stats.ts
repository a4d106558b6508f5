// What the node uses, for who asks: the summary, the metrics of resources and of cgroups, and what eviction decides by.
// Upstream: pkg/kubelet/stats, pkg/kubelet/server/stats. Owns the collections. Invariants: nothing is collected unless somebody
// asks; who asks within 10 s shares what was collected; what cannot be learnt in time is left out and told as a fault.
import type { NodeLoad, NodeLoadSource } from '../api/ports/node-usage.ts';
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
import { AskRuntime, type AskRuntimeDeps } from './collect/ask-runtime.ts';
import { CollectDisk, type CollectDiskDeps, type CollectedDisk } from './collect/collect-disk.ts';
import { type CollectedNetwork, type CollectNetworkDeps, collectNetwork } from './collect/collect-network.ts';
import { type CollectedUsage, CollectUsage, type CollectUsageDeps } from './collect/collect-usage.ts';
import { nodeLoad } from './node-load.ts';
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
  readonly runtime: AskRuntimeDeps['runtime'];
  readonly volumes: CollectDiskDeps['volumes'];
  /** Reads the kernel's files. */
  readonly readers: Pick<CollectUsageDeps, 'cgroups' | 'pause'> & {
    readonly host: HostReader;
    readonly unreadable: UnreadableFiles;
  };
  /** Where things lie on this node, and what does not change about it. */
  readonly node: Pick<CollectUsageDeps, 'places' | 'system'> &
    Pick<CollectDiskDeps, 'rootDir' | 'podLogsDir'> &
    Pick<CollectCadvisorDeps, 'sandboxImage'> & { readonly machine: () => Promise<MachineEntry> };
  readonly settings: SummarySettings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** As cadvisor looks anew. */
const goodForMs = 10_000;
/** What is shown together was measured nearly together. */
const togetherMs = 5_000;
const spaceDeadlineMs = 2_000;

export class Stats implements Component, NodeLoadSource {
  readonly name = 'stats';
  readonly #deps: StatsDeps;
  readonly #life = new AbortController();
  readonly #usage: Shared<CollectedUsage>;
  readonly #disk: Shared<CollectedDisk>;
  readonly #network: Shared<CollectedNetwork>;
  readonly #all: Shared<Collected>;
  readonly #cadvisor: Shared<string>;
  #told = '';

  constructor(deps: StatsDeps) {
    this.#deps = deps;
    const { clock, node, readers, settings } = deps;
    const ask = new AskRuntime(deps);
    const shared = <T>(make: () => Promise<T>): Shared<T> => new Shared(clock, goodForMs, make);
    const containers = shared(() => ask.containers(this.#life.signal));
    const collectUsage = new CollectUsage({
      observed: deps.observed,
      cgroups: readers.cgroups,
      places: node.places,
      system: node.system,
      pause: readers.pause,
      clock,
      bootedAtMs: settings.bootedAtMs,
      askContainers: () => containers.get(togetherMs),
    });
    const collectDisk = new CollectDisk({ ...node, volumes: deps.volumes, host: readers.host, clock });
    this.#usage = shared(() => this.#withFaults(() => collectUsage.collect()));
    this.#disk = shared(() => collectDisk.collect(pickPods(deps.observed.all().values()), this.#life.signal));
    this.#network = shared(async () => {
      const { pods } = await this.#usage.get(togetherMs);
      const askSandboxes = () => ask.sandboxes(this.#life.signal);
      return collectNetwork({ ...readers, clock, askSandboxes }, pods);
    });
    this.#all = shared(() => this.#collectAll(containers, ask));
    this.#cadvisor = shared(() => this.#renderCadvisor());
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const stopped = untilAborted(signal).then(() => this.#life.abort(new Aborted('the kubelet stops')));
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

  /** Logs and volumes of pods. */
  disk(): Promise<CollectedDisk> {
    return this.#disk.get();
  }

  async load(withinMs = goodForMs): Promise<NodeLoad> {
    await Promise.all([this.#usage.get(withinMs), this.#disk.get(withinMs)]);
    return nodeLoad(await this.#all.get(withinMs));
  }

  async #collectAll(
    containerStats: Shared<Awaited<ReturnType<AskRuntime['containers']>>>,
    ask: AskRuntime,
  ): Promise<Collected> {
    const { clock } = this.#deps;
    const { host } = this.#deps.readers;
    const [usage, disk, network, containers, images] = await Promise.all([
      this.#usage.get(togetherMs),
      this.#disk.get(togetherMs),
      this.#network.get(togetherMs),
      containerStats.get(togetherMs),
      ask.images(this.#life.signal),
    ]);
    const named = [images.value, ...[...containers.value.values()].map((stats) => stats.writableLayer)];
    const faults = [...usage.faults, ...disk.faults, ...network.faults];
    for (const { fault } of [containers, images]) if (fault !== undefined) faults.push(fault);
    const spaces = await this.#spaces(new Set(named.flatMap((each) => each?.fsId?.mountpoint ?? [])), faults);
    this.#tell(faults);
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
    const { signal } = this.#life;
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
    const usage = await this.#usage.get(togetherMs);
    const network = await this.#network.get(togetherMs);
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

  /** With the files that could not be read meanwhile. */
  async #withFaults<T extends { readonly faults: readonly string[] }>(collect: () => Promise<T>): Promise<T> {
    const { unreadable } = this.#deps.readers;
    unreadable.clear();
    const collected = await collect();
    const faults = [...collected.faults, ...unreadable.faults()];
    this.#tell(faults);
    return { ...collected, faults };
  }

  /** The same again is no news. */
  #tell(faults: readonly string[]): void {
    const text = faults.join('; ');
    if (text === this.#told) return;
    this.#told = text;
    if (text !== '')
      this.#deps.log.warn('Some statistics could not be learnt', { faults: faults.slice(0, 5) });
  }
}
