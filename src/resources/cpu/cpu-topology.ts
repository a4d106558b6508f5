// Which CPU belongs to which core, socket, NUMA node and uncore (L3) cache. Pure and immutable.
// Upstream: pkg/kubelet/cm/cpumanager/topology, and the choice of uncore caches of cadvisor's addCacheInfo.
import type { MachineCache, MachineTopology, NumaNode } from '../../api/ports/machine-topology.ts';
import { KubeletError } from '../../base/errors.ts';
import { CpuSet } from './cpu-set.ts';

export interface CpuPlace {
  readonly numaNode: number;
  readonly socket: number;
  /** The lowest CPU ID of the core's threads: unique on the machine, unlike the kernel's. */
  readonly core: number;
  /** The kernel's ID of an L3 cache that a part of the NUMA node shares, else the socket's ID. */
  readonly uncoreCache: number;
}

export type CpuLevel = keyof CpuPlace;

interface CpuCounts {
  readonly numCpus: number;
  readonly numCores: number;
  readonly numSockets: number;
}

export class CpuTopology implements CpuCounts {
  readonly numCpus: number;
  readonly numCores: number;
  readonly numSockets: number;
  readonly numNumaNodes: number;
  readonly numUncoreCaches: number;
  readonly details: ReadonlyMap<number, CpuPlace>;
  readonly cpus: CpuSet;
  /** The CPUs of each unit, by its ID. */
  readonly units: Readonly<Record<CpuLevel, ReadonlyMap<number, CpuSet>>>;

  /** The counts may differ from the number of details: upstream takes them from other sources. */
  constructor(details: ReadonlyMap<number, CpuPlace>, counts: CpuCounts) {
    this.details = details;
    this.cpus = CpuSet.of(details.keys());
    this.units = {
      numaNode: grouped(details, 'numaNode'),
      socket: grouped(details, 'socket'),
      core: grouped(details, 'core'),
      uncoreCache: grouped(details, 'uncoreCache'),
    };
    this.numCpus = counts.numCpus;
    this.numCores = counts.numCores;
    this.numSockets = counts.numSockets;
    this.numNumaNodes = this.units.numaNode.size;
    this.numUncoreCaches = this.units.uncoreCache.size;
  }

  /** Threads per core, on average and rounded down, as upstream. */
  get cpusPerCore(): number {
    return average(this.numCpus, this.numCores);
  }

  get cpusPerSocket(): number {
    return average(this.numCpus, this.numSockets);
  }

  get cpusPerUncoreCache(): number {
    return average(this.numCpus, this.numUncoreCaches);
  }

  /** Ascending IDs, as of all lookups below. */
  get numaNodes(): readonly number[] {
    return [...this.units.numaNode.keys()];
  }

  cpusInNumaNodes(ids: Iterable<number>): CpuSet {
    return this.#cpusIn('numaNode', ids);
  }

  cpusInSockets(ids: Iterable<number>): CpuSet {
    return this.#cpusIn('socket', ids);
  }

  cpusInCores(ids: Iterable<number>): CpuSet {
    return this.#cpusIn('core', ids);
  }

  cpusInUncoreCaches(ids: Iterable<number>): CpuSet {
    return this.#cpusIn('uncoreCache', ids);
  }

  /** CPUs that the machine does not have are ignored. */
  numaNodesOf(cpus: CpuSet): readonly number[] {
    return this.unitsOf('numaNode', cpus);
  }

  socketsOf(cpus: CpuSet): readonly number[] {
    return this.unitsOf('socket', cpus);
  }

  coresOf(cpus: CpuSet): readonly number[] {
    return this.unitsOf('core', cpus);
  }

  uncoreCachesOf(cpus: CpuSet): readonly number[] {
    return this.unitsOf('uncoreCache', cpus);
  }

  socketsInNumaNodes(ids: Iterable<number>): readonly number[] {
    return this.socketsOf(this.cpusInNumaNodes(ids));
  }

  /** Whether all share one uncore cache. */
  isUncoreAligned(cpus: CpuSet): boolean {
    if (cpus.size <= 1) return true;
    return cpus.isSubsetOf(this.cpus) && this.uncoreCachesOf(cpus).length === 1;
  }

  #cpusIn(level: CpuLevel, ids: Iterable<number>): CpuSet {
    let cpus = CpuSet.empty;
    for (const id of ids) cpus = cpus.union(this.units[level].get(id) ?? CpuSet.empty);
    return cpus;
  }

  unitsOf(level: CpuLevel, cpus: CpuSet): readonly number[] {
    const found = new Set<number>();
    for (const cpu of cpus.ids) {
      const place = this.details.get(cpu);
      if (place !== undefined) found.add(place[level]);
    }
    return [...found].toSorted((a, b) => a - b);
  }
}

/** Throws if the machine reports no CPUs. */
export function discoverCpuTopology(machine: MachineTopology): CpuTopology {
  if (machine.threads === 0) throw new KubeletError('invalid', 'NoCpus', 'could not detect number of cpus');
  const details = new Map<number, CpuPlace>();
  let numCores = 0;
  for (const node of machine.nodes) {
    const cores = coresOf(node);
    numCores += cores.length;
    const caches = uncoreCachesOf(node, cores);
    for (const [at, { threads, socket }] of cores.entries())
      for (const cpu of threads)
        details.set(cpu, {
          numaNode: node.id,
          socket,
          core: Math.min(...threads),
          uncoreCache: caches[at] ?? socket,
        });
  }
  return new CpuTopology(details, { numCpus: machine.threads, numCores, numSockets: machine.sockets });
}

interface Core {
  readonly socket: number;
  readonly threads: number[];
}

/** In cadvisor's order, which is that of the directories' names: cpu1, cpu10, cpu2. */
function coresOf(node: NumaNode): readonly Core[] {
  const cores = new Map<string, Core>();
  for (const thread of node.threads.toSorted((a, b) => (`${a.id}` < `${b.id}` ? -1 : 1))) {
    const key = `${thread.socket}/${thread.core}`;
    const core = cores.get(key);
    if (core === undefined) cores.set(key, { socket: thread.socket, threads: [thread.id] });
    else core.threads.push(thread.id);
  }
  return [...cores.values()];
}

/** A cache that the whole NUMA node shares is none. The node's remaining cores have none once the kernel gives no ID. */
function uncoreCachesOf(node: NumaNode, cores: readonly Core[]): readonly (number | undefined)[] {
  const found: (number | undefined)[] = [];
  const byThread = cachesByThread(node.caches);
  for (const { threads } of cores) {
    const caches = byThread.get(threads[0] ?? -1) ?? [];
    if (caches.some(({ id }) => id === undefined)) break;
    const ofNode = cores.length * threads.length;
    found.push(caches.find((cache) => cache.level > 2 && cache.threads.length !== ofNode)?.id);
  }
  return found;
}

function cachesByThread(caches: readonly MachineCache[]): ReadonlyMap<number, readonly MachineCache[]> {
  const found = new Map<number, MachineCache[]>();
  for (const cache of caches.toSorted((a, b) => a.level - b.level))
    for (const thread of cache.threads) {
      const list = found.get(thread);
      if (list === undefined) found.set(thread, [cache]);
      else list.push(cache);
    }
  return found;
}

function grouped(details: ReadonlyMap<number, CpuPlace>, level: CpuLevel): ReadonlyMap<number, CpuSet> {
  const ids = new Map<number, number[]>();
  for (const [cpu, place] of details) {
    const list = ids.get(place[level]);
    if (list === undefined) ids.set(place[level], [cpu]);
    else list.push(cpu);
  }
  const sorted = [...ids].toSorted(([a], [b]) => a - b);
  return new Map(sorted.map(([id, cpus]) => [id, CpuSet.of(cpus)]));
}

function average(cpus: number, units: number): number {
  return units === 0 ? 0 : Math.floor(cpus / units);
}
