// One allocation in progress: which CPUs are free, taken and still needed, and in which order units are tried. At every level the
// unit with the fewest free CPUs comes first, then the lower ID. Pure apart from its own state, used for one call only.
// Upstream: cpuAccumulator in pkg/kubelet/cm/cpumanager/cpu_assignment.go.
// Invariant: only available CPUs are taken, each once.
import { CpuSet } from './cpu-set.ts';
import type { CpuLevel, CpuTopology } from './cpu-topology.ts';

export class CpuAccumulator {
  readonly #topology: CpuTopology;
  #free: CpuSet;
  #taken = CpuSet.empty;
  #needed: number;

  constructor(topology: CpuTopology, available: CpuSet, count: number) {
    this.#topology = topology;
    this.#free = available.intersection(topology.cpus);
    this.#needed = count;
  }

  get taken(): CpuSet {
    return this.#taken;
  }

  get needed(): number {
    return this.#needed;
  }

  get isSatisfied(): boolean {
    return this.#needed < 1;
  }

  get isFailed(): boolean {
    return this.#needed > this.#free.size;
  }

  // differs from upstream, which on machines with units of different sizes may take a CPU that is not available or count it twice.
  take(cpus: CpuSet): void {
    const own = cpus.intersection(this.#free);
    this.#taken = this.#taken.union(own);
    this.#free = this.#free.difference(own);
    this.#needed -= own.size;
  }

  /** Takes every unit that is free as a whole and not larger than what is still needed. */
  takeWhole(level: CpuLevel): void {
    const whole = this.#sorted(level).filter((id) => this.#isWhole(level, id));
    for (const id of whole) {
      const cpus = this.#cpus(level, id);
      if (this.#needed >= cpus.size) this.take(cpus);
    }
  }

  /** Takes the lowest cores of the cache, if that gives exactly the needed number of CPUs. */
  takePartOfCache(id: number): void {
    const threads = this.#topology.cpusPerCore;
    const freeInCache = this.#free.intersection(this.#cpus('uncoreCache', id));
    const cores = this.#topology.coresOf(freeInCache).slice(0, Math.ceil(this.#needed / threads));
    let cpus = this.#free.intersection(this.#topology.cpusInCores(cores));
    // With threads, an odd number needs one CPU of the last core only.
    if (this.#needed % 2 !== 0 && threads > 1 && cpus.size > this.#needed)
      cpus = CpuSet.of(cpus.ids.slice(0, -1));
    if (cpus.size === this.#needed) this.take(cpus);
  }

  takeRemaining(sort: 'packed' | 'spread'): void {
    const [level, ids] =
      sort === 'packed' ? (['core', this.cores()] as const) : (['socket', this.#sockets()] as const);
    const cpus = ids.flatMap((id) => this.#free.intersection(this.#cpus(level, id)).ids);
    this.take(CpuSet.of(cpus.slice(0, this.#needed)));
  }

  freeIn(level: CpuLevel, id: number): CpuSet {
    return this.#free.intersection(this.#cpus(level, id));
  }

  /** NUMA nodes with free CPUs. */
  numaNodes(): readonly number[] {
    if (this.#isNumaFirst) return this.#sort('numaNode', this.#topology.numaNodesOf(this.#free));
    return this.#below(this.#sockets(), 'socket', 'numaNode');
  }

  uncoreCaches(): readonly number[] {
    return this.#below(this.numaNodes(), 'numaNode', 'uncoreCache');
  }

  cores(): readonly number[] {
    return this.#isNumaFirst
      ? this.#below(this.#sockets(), 'socket', 'core')
      : this.#below(this.numaNodes(), 'numaNode', 'core');
  }

  #sockets(): readonly number[] {
    if (!this.#isNumaFirst) return this.#sort('socket', this.#topology.socketsOf(this.#free));
    return this.#below(this.numaNodes(), 'numaNode', 'socket');
  }

  get #isNumaFirst(): boolean {
    return this.#topology.numSockets >= this.#topology.numNumaNodes;
  }

  #sorted(level: CpuLevel): readonly number[] {
    if (level === 'numaNode') return this.numaNodes();
    if (level === 'socket') return this.#sockets();
    return level === 'core' ? this.cores() : this.uncoreCaches();
  }

  /**
   * The units of each parent in turn. differs from upstream: a unit that spans several parents is listed with the first one only.
   */
  #below(parents: readonly number[], parent: CpuLevel, level: CpuLevel): readonly number[] {
    const found = new Set<number>();
    for (const each of parents) {
      const cpus = this.freeIn(parent, each);
      for (const id of this.#sort(level, this.#topology.unitsOf(level, cpus))) found.add(id);
    }
    return [...found];
  }

  #sort(level: CpuLevel, ids: readonly number[]): readonly number[] {
    const counted = ids.map((id) => ({ id, free: this.#free.overlap(this.#cpus(level, id)) }));
    return counted.toSorted((a, b) => a.free - b.free || a.id - b.id).map(({ id }) => id);
  }

  /** As upstream, sockets and cores of another size than the average never count as whole. */
  #isWhole(level: CpuLevel, id: number): boolean {
    const { cpusPerCore, cpusPerSocket } = this.#topology;
    const { size } = this.#cpus(level, id);
    if (level === 'socket' && size !== cpusPerSocket) return false;
    if (level === 'core' && size !== cpusPerCore) return false;
    return this.#free.overlap(this.#cpus(level, id)) === size;
  }

  #cpus(level: CpuLevel, id: number): CpuSet {
    return this.#topology.units[level].get(id) ?? CpuSet.empty;
  }
}
