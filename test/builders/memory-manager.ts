// A memory manager on a machine in memory, and Guaranteed pods for it. Amounts are in GiB.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import type { EventText } from '../../src/api/ports/events.ts';
import type { MachineTopology } from '../../src/api/ports/machine-topology.ts';
import { addAmounts, noAmounts, parseAmounts } from '../../src/api/quantity/resource-amounts.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import type { KeptFiles } from '../../src/resources/checkpoint/kept-checkpoint.ts';
import type { MemoryReservation } from '../../src/resources/memory/memory-machine.ts';
import { MemoryManager } from '../../src/resources/memory/memory-manager.ts';
import { MemoryManagerMetrics } from '../../src/resources/memory/memory-manager-metrics.ts';
import type { RunningContainer } from '../../src/resources/memory/running-memory.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { aContainer, aPod } from './builders.ts';

export const GiB = 2 ** 30;

/** NUMA nodes with consecutive IDs; each with huge pages of 2Mi, if any. */
export function aNumaMachine(memoryGiB: readonly number[], hugeGiB = 0): MachineTopology {
  const nodes = memoryGiB.map((size, id) => ({
    id,
    memoryBytes: BigInt(size * GiB),
    hugePages: hugeGiB === 0 ? [] : [{ sizeBytes: 2n ** 21n, count: BigInt(hugeGiB * 512) }],
    distances: [],
    threads: [],
    caches: [],
  }));
  return { sockets: 1, cores: 1, threads: 1, nodes };
}

export function aGuaranteedContainer(name: string, memory: string, over: Partial<Container> = {}): Container {
  const amounts = { cpu: '1', memory };
  return aContainer({ name, resources: { requests: amounts, limits: amounts }, ...over });
}

export function aGuaranteedPod(name: string, ...memory: readonly string[]): Pod {
  return aPod({ name, containers: memory.map((size, at) => aGuaranteedContainer(`c${at}`, size)) });
}

interface KitOver {
  readonly policy?: string;
  readonly machine?: MachineTopology;
  /** On the first node. */
  readonly reserved?: string;
  /** Instead of `reserved`. */
  readonly reservedMemory?: readonly MemoryReservation[];
  readonly running?: readonly RunningContainer[];
  /** cpuset.mems by container ID. */
  readonly mems?: Readonly<Record<string, string>>;
  /** Neither the runtime nor the disk can be used. */
  readonly isBroken?: boolean;
}

/** The files survive, as on a node whose kubelet restarts: `start` creates another manager over them. */
export class MemoryManagerKit {
  static readonly path = '/root/memory_manager_state';
  readonly files = new Map<string, string>();
  readonly events: EventText[] = [];
  readonly logs: string[] = [];
  readonly metrics = new Metrics();
  readonly #managerMetrics = new MemoryManagerMetrics(this.metrics);

  get file(): string | undefined {
    return this.files.get(MemoryManagerKit.path);
  }

  async start(over: KitOver = {}): Promise<MemoryManager> {
    const {
      machine = aNumaMachine([8, 8]),
      mems = {},
      policy = 'Static',
      reserved = '1Gi',
      running = [],
    } = over;
    const broken = async (): Promise<never> => {
      throw new KubeletError('unavailable', 'Broken', 'out of order');
    };
    const { isBroken = false, reservedMemory = [{ numaNode: 0, limits: { memory: reserved } }] } = over;
    const sum = reservedMemory.map(({ limits }) => parseAmounts(limits)).reduce(addAmounts, noAmounts);
    const write = (message: string): void => void this.logs.push(message);
    const manager = new MemoryManager({
      files: { ...this.#kept(), ...(isBroken ? { replace: broken } : {}) },
      rootDir: '/root',
      clock: new FakeClock(),
      log: { ...silentLogger, info: write, warn: write, error: write },
      events: { node: (event) => void this.events.push(event) },
      metrics: this.#managerMetrics,
      policy,
      reservedMemory,
      nodeReservation: sum,
      topology: async () => machine,
      running: isBroken ? broken : async () => running,
      cpusetMemsOf: async (id) => mems[id],
    });
    await manager.start(new AbortController().signal);
    return manager;
  }

  #kept(): KeptFiles {
    const { files } = this;
    return {
      read: async (path) => files.get(path),
      replace: async (path, text) => void files.set(path, text),
      flush: async () => undefined,
      keep: async (path, as) => {
        const text = files.get(path);
        if (text !== undefined) files.set(as, text);
      },
    };
  }
}
