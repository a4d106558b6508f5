// A CPU manager with files, runtime and pods in memory.
import { ContainerState } from '../../src/api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../src/api/cri/labels.ts';
import type { Pod } from '../../src/api/k8s/types.ts';
import type { ObservedPod } from '../../src/api/pod/observed.ts';
import { asContainerId, asPodUid, type PodUid } from '../../src/api/pod/pod-ref.ts';
import { Quantity } from '../../src/api/quantity/quantity.ts';
import { Channel } from '../../src/base/channel.ts';
import { startComponent } from '../../src/base/component.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { CpuManager } from '../../src/resources/cpu/cpu-manager.ts';
import type { CpuManagerDeps } from '../../src/resources/cpu/cpu-manager-deps.ts';
import { CpuManagerMetrics } from '../../src/resources/cpu/cpu-manager-metrics.ts';
import { CpuSet } from '../../src/resources/cpu/cpu-set.ts';
import type { CpuTopology } from '../../src/resources/cpu/cpu-topology.ts';
import { NumaNodes } from '../../src/resources/topology/numa-nodes.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { aContainer, anObservedContainer, anObservedPod, aPod } from './builders.ts';
import { aTopology } from './cpu-machine.ts';

interface RigOptions {
  readonly policy?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly reserved?: string | undefined;
  readonly topology?: CpuTopology;
}

/** 8 CPUs, 2 threads per core (0 and 4, …), 2 NUMA nodes. */
const machine = { numaNodes: 2, coresPerNode: 2, threads: 2 };

export class CpuManagerRig {
  readonly clock = new FakeClock();
  readonly files = new Map<string, string>();
  readonly active: Pod[] = [];
  readonly events: string[] = [];
  /** `pod/container-1 0-3`. */
  readonly updates: string[] = [];
  update: (id: string) => Promise<unknown> = () => Promise.resolve();
  /** Resolves when the runtime answers a list. */
  list: () => Promise<unknown> = () => Promise.resolve();
  /** Resolves when the CPUs of a container can be read. */
  readCpuset: (id: string) => Promise<unknown> = () => Promise.resolve();
  manager: CpuManager;
  readonly #options: RigOptions;
  readonly #topology: CpuTopology;
  readonly #observed = new Map<PodUid, ObservedPod>();
  readonly #changed = new Channel<PodUid>();
  /** cpuset.cpus by container ID. */
  readonly #cpusets = new Map<string, string>();
  readonly #aligned = new Map<string, number>();
  #metrics = new Metrics();
  #life = new AbortController();
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: RigOptions = {}) {
    this.#options = { reserved: '2', ...options };
    this.#topology = options.topology ?? aTopology(machine);
    this.manager = this.#create();
  }

  #create(): CpuManager {
    const { options = {}, policy = 'static', reserved } = this.#options;
    const amount = reserved === undefined ? undefined : Quantity.parse(reserved);
    this.#metrics = new Metrics();
    this.#life = new AbortController();
    return new CpuManager({
      config: {
        policy,
        options,
        reservation: { amount, cpus: CpuSet.empty },
        reconcilePeriodMs: 10_000,
        rootDir: '/root',
      },
      machine: {
        topology: this.#topology,
        numa: new NumaNodes(this.#topology.numaNodes.map((id) => ({ id }))),
      },
      files: this.#stateFiles(),
      runtime: this.#runtime(),
      pods: {
        active: { all: () => this.active },
        observed: {
          get: (uid) => this.#observed.get(uid),
          all: () => this.#observed,
          changed: this.#changed,
        },
      },
      metrics: this.#createMetrics(),
      report: {
        events: { node: ({ message, reason }) => void this.events.push(`${reason} ${message}`) },
        log: silentLogger,
      },
      clock: this.clock,
    });
  }

  #stateFiles(): CpuManagerDeps['files'] {
    const { signal } = this.#life;
    const write = async (path: string, text: string): Promise<void> => {
      if (!signal.aborted) this.files.set(path, text);
    };
    return {
      read: async (path) => this.files.get(path),
      replace: write,
      flush: async () => undefined,
      keep: async (path, as) => {
        const text = this.files.get(path);
        if (text !== undefined) await write(as, text);
      },
    };
  }

  #runtime(): CpuManagerDeps['runtime'] {
    const containers = (): ReturnType<CpuManagerDeps['runtime']['cri']['listContainers']> extends Promise<
      infer R
    >
      ? R
      : never => ({
      containers: [...this.#observed.values()].flatMap(({ containers: all, uid }) =>
        all.map(({ id, name }) => ({
          id,
          podSandboxId: '',
          metadata: undefined,
          image: undefined,
          imageRef: '',
          imageId: '',
          state: ContainerState.CONTAINER_RUNNING,
          createdAt: 0n,
          labels: { [criLabels.podUid]: uid, [criLabels.containerName]: name },
          annotations: {},
        })),
      ),
    });
    return {
      cri: {
        listContainers: async () => {
          await this.list();
          return containers();
        },
        updateContainerResources: async ({ containerId = '', linux }) => {
          this.updates.push(`${containerId} ${linux?.cpusetCpus}`);
          await this.update(containerId);
          this.#cpusets.set(containerId, linux?.cpusetCpus ?? '');
          return {};
        },
      },
      cpusetOf: async (id) => {
        await this.readCpuset(id);
        return this.#cpusets.get(id) ?? '';
      },
    };
  }

  #createMetrics(): CpuManagerMetrics {
    this.#aligned.clear();
    const count = (name: string, by: number): void =>
      void this.#aligned.set(name, (this.#aligned.get(name) ?? 0) + by);
    return new CpuManagerMetrics(this.#metrics, {
      aligned: ({ boundary }, by = 1) => count(`aligned ${boundary}`, by),
      notAligned: ({ boundary }, by = 1) => count(`notAligned ${boundary}`, by),
    });
  }

  async start(): Promise<void> {
    const { stopped } = await startComponent(this.manager, this.#life.signal);
    this.#stopped = stopped;
  }

  async stop(): Promise<void> {
    this.#life.abort();
    await this.#stopped;
  }

  /** As a kill of the process and a new start. */
  async restart(): Promise<void> {
    await this.manager.saved();
    this.#life.abort();
    await this.#stopped;
    this.manager = this.#create();
    await this.start();
  }

  /** Admits a Guaranteed pod with one container, c. */
  admit(uid: string, cpu: string): void {
    const list = { cpu, memory: '1Gi' };
    const container = aContainer({ resources: { requests: list, limits: list } });
    const pod = aPod({ name: uid, uid, containers: [container] });
    this.manager.containerHints(pod, container);
    this.manager.allocate(pod, container, { mask: undefined, preferred: true });
  }

  /** The runtime runs a container of an active pod. */
  run(uid: string, name: string, cpuset?: string): void {
    const id = `${uid}/${name}-1`;
    if (cpuset !== undefined) this.#cpusets.set(id, cpuset);
    this.active.push(aPod({ name: uid, uid }));
    const container = anObservedContainer({ id: asContainerId(id), name });
    this.observe(anObservedPod({ uid: asPodUid(uid), name: uid, containers: [container] }));
  }

  observe(pod: ObservedPod): void {
    this.#observed.set(pod.uid, pod);
    this.#changed.push(pod.uid);
  }

  view(uid: string, container = 'c'): { exclusive: string | undefined; cpus: string; has: boolean } {
    const exclusive = this.manager.exclusiveCpus(asPodUid(uid), container);
    return {
      exclusive: exclusive && `${exclusive}`,
      cpus: `${this.manager.cpusFor(asPodUid(uid), container)}`,
      has: this.manager.hasExclusiveCpus(asPodUid(uid)),
    };
  }

  samples(): Record<string, string> {
    const lines = this.#metrics.render().split('\n');
    const own = lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice('kubelet_'.length, at), line.slice(at + 1)];
      });
    return Object.fromEntries([...own, ...[...this.#aligned].map(([name, value]) => [name, `${value}`])]);
  }
}
