// Usage of the fake containers. Synthetic and deterministic: CPU time grows with the time a container has run.
// Invariant: as in containerd, lists hold every container, and only running ones have CPU and memory.
import {
  ContainerState,
  type ContainerStats,
  type ListContainerStatsRequest,
  type ListPodSandboxStatsRequest,
  type PodSandboxStats,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { unknownError } from './rpc-error.ts';
import { type FakeContainer, type FakeSandbox, type FakeState, selects } from './state.ts';

/** Usage of a container; a test may override it. */
export interface FakeUsage {
  /** Fraction of one core. */
  readonly cpuShare: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly writableLayerBytes: number;
}

const usual: FakeUsage = {
  cpuShare: 0.01,
  workingSetBytes: 8 << 20,
  rssBytes: 4 << 20,
  writableLayerBytes: 4096,
};

export class FakeStats {
  readonly #state: FakeState;
  /** By container name. */
  readonly usage = new Map<string, Partial<FakeUsage>>();

  constructor(state: FakeState) {
    this.#state = state;
  }

  container(id: string): ContainerStats {
    const container = this.#state.container(id, () => 'failed to find container');
    if (container.state !== ContainerState.CONTAINER_RUNNING)
      throw unknownError('unexpected metrics response: []');
    return this.#of(container);
  }

  containers({ filter }: ListContainerStatsRequest): ContainerStats[] {
    const { containers, sandboxes } = this.#state;
    const id = this.#state.fullId(containers, filter?.id ?? '');
    const sandboxId = this.#state.fullId(sandboxes, filter?.podSandboxId ?? '');
    return [...containers.values()]
      .filter((each) => (id === '' || each.id === id) && (sandboxId === '' || each.sandbox.id === sandboxId))
      .filter((each) => selects(filter?.labelSelector ?? {}, each.config.labels))
      .map((each) => this.#of(each));
  }

  sandbox(id: string): PodSandboxStats {
    const sandbox = this.#state.sandbox(
      id,
      (text) => `an error occurred when trying to find sandbox ${text}`,
    );
    if (sandbox.ready) return this.#ofSandbox(sandbox);
    throw unknownError(
      `failed to decode pod sandbox metrics ${sandbox.id}: failed to get pod sandbox stats since sandbox container "${sandbox.id}" is not in ready state`,
    );
  }

  sandboxes({ filter }: ListPodSandboxStatsRequest): PodSandboxStats[] {
    const id = this.#state.fullId(this.#state.sandboxes, filter?.id ?? '');
    return [...this.#state.sandboxes.values()]
      .filter((each) => each.ready && (id === '' || each.id === id))
      .filter((each) => selects(filter?.labelSelector ?? {}, each.config.labels))
      .map((each) => this.#ofSandbox(each));
  }

  #of(container: FakeContainer): ContainerStats {
    const { metadata, labels, annotations } = container.config;
    const usage = { ...usual, ...this.usage.get(metadata?.name ?? '') };
    const timestamp = this.#state.nowNs();
    const ranNs = Number(timestamp - container.startedAtNs);
    const value = (n: number): { value: bigint } => ({ value: BigInt(Math.max(0, Math.round(n))) });
    const isRunning = container.state === ContainerState.CONTAINER_RUNNING;
    const cpu = {
      timestamp,
      usageCoreNanoSeconds: value(ranNs * usage.cpuShare),
      usageNanoCores: value(1e9 * usage.cpuShare),
      psi: undefined,
    };
    const memory = {
      timestamp,
      workingSetBytes: value(usage.workingSetBytes),
      availableBytes: value(Number(container.resources.memoryLimitInBytes) - usage.workingSetBytes),
      usageBytes: value(usage.workingSetBytes),
      rssBytes: value(usage.rssBytes),
      pageFaults: value(0),
      majorPageFaults: value(0),
      psi: undefined,
    };
    return {
      attributes: { id: container.id, metadata, labels, annotations },
      cpu: isRunning ? cpu : undefined,
      memory: isRunning ? memory : undefined,
      writableLayer: {
        timestamp,
        fsId: { mountpoint: '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs' },
        usedBytes: value(usage.writableLayerBytes),
        inodesUsed: value(1),
      },
      swap: undefined,
      io: undefined,
    };
  }

  #ofSandbox(sandbox: FakeSandbox): PodSandboxStats {
    const { metadata, labels, annotations } = sandbox.config;
    const containers = this.#state.containersOf(sandbox).map((container) => this.#of(container));
    const sum = (pick: (stats: ContainerStats) => bigint | undefined): { value: bigint } => ({
      value: containers.reduce((total, each) => total + (pick(each) ?? 0n), 0n),
    });
    const timestamp = this.#state.nowNs();
    return {
      attributes: { id: sandbox.id, metadata, labels, annotations },
      linux: {
        cpu: {
          timestamp,
          usageCoreNanoSeconds: sum((each) => each.cpu?.usageCoreNanoSeconds?.value),
          usageNanoCores: sum((each) => each.cpu?.usageNanoCores?.value),
          psi: undefined,
        },
        memory: {
          timestamp,
          workingSetBytes: sum((each) => each.memory?.workingSetBytes?.value),
          availableBytes: sum((each) => each.memory?.availableBytes?.value),
          usageBytes: sum((each) => each.memory?.usageBytes?.value),
          rssBytes: sum((each) => each.memory?.rssBytes?.value),
          pageFaults: { value: 0n },
          majorPageFaults: { value: 0n },
          psi: undefined,
        },
        network: undefined,
        process: {
          timestamp,
          processCount: { value: BigInt(containers.filter((each) => each.cpu).length + 1) },
        },
        containers,
        io: undefined,
      },
      windows: undefined,
    };
  }
}
