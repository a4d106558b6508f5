// Decides how many CPUs each NUMA node gives if a request is distributed evenly over as few nodes as possible: the same multiple
// of the group size from each, the remainder in groups from some of them, so that the free CPUs left on all nodes differ least.
// Pure. Upstream: takeByTopologyNUMADistributed in pkg/kubelet/cm/cpumanager/cpu_assignment.go, KEP-2902.
// Invariant: the search ends after a bounded number of steps, which suffices for every combination of 8 NUMA nodes.

interface DistributionInput {
  /** The NUMA nodes with free CPUs, in the order in which they are tried. */
  readonly nodes: readonly NodeCpus[];
  /** A multiple of the group size, at most the sum of free CPUs. */
  readonly count: number;
  readonly groupSize: number;
  readonly machine: { readonly cpus: number; readonly numaNodes: number };
  /** With align-by-socket: nodes of one socket are preferred. */
  readonly isInOneSocket?: (ids: readonly number[]) => boolean;
}

interface NodeCpus {
  readonly id: number;
  readonly free: number;
}

/** What to take of a node at once, in this order. A node may occur several times. */
interface Share {
  readonly id: number;
  readonly cpus: number;
}

interface Remainder {
  /** How many groups a node gives in addition. */
  readonly extra: ReadonlyMap<number, number>;
  /** The standard deviation of the free CPUs left on all nodes. */
  readonly balance: number;
}

interface Candidate extends Remainder {
  /** Positions in the list of nodes. */
  readonly nodes: readonly number[];
  readonly each: number;
  readonly isInOneSocket: boolean;
}

/** Some ms; 8 nodes need a fifth. With more nodes, the best choice until then is used, or else CPUs are packed. */
const mostSteps = 500_000;
/** Of one choice of nodes, in addition to those for each node and group. */
const stepsPerChoice = 8;

/** Undefined if no set of NUMA nodes can give the same number of CPUs each. */
export function computeDistribution(input: DistributionInput): readonly Share[] | undefined {
  const { count, groupSize, machine, nodes } = input;
  const groups = Math.ceil(count / groupSize);
  const groupsPerNode = Math.ceil(Math.ceil(machine.cpus / groupSize) / machine.numaNodes);
  const most = Math.min(groups, nodes.length);
  const search = new Search(input);
  for (let size = Math.ceil(groups / groupsPerNode); size <= most; size += 1) {
    const best = search.best(size);
    if (best !== undefined) return sharesOf(best, input);
  }
  return undefined;
}

class Search {
  readonly #input: DistributionInput;
  readonly #free: readonly number[];
  readonly #deviation: (squares: number) => number;
  #steps = mostSteps;

  constructor(input: DistributionInput) {
    this.#input = input;
    this.#free = input.nodes.map(({ free }) => free);
    this.#deviation = deviationOf(sumOf(this.#free) - input.count, this.#free.length);
  }

  /** The best set of this many nodes; of equally good ones the first. */
  best(size: number): Candidate | undefined {
    let best: Candidate | undefined;
    forEachCombination(this.#free.length, size, (nodes) => {
      this.#steps -= size;
      const isFinal = best?.balance === 0 && (!this.#input.isInOneSocket || best.isInOneSocket);
      if (isFinal || this.#steps < 0) return false;
      const candidate = this.#candidate(nodes);
      if (candidate !== undefined && (best === undefined || isBetter(candidate, best))) best = candidate;
      return true;
    });
    return best;
  }

  #candidate(nodes: readonly number[]): Candidate | undefined {
    const { count, groupSize, isInOneSocket } = this.#input;
    let usable = 0;
    let smallest = Number.POSITIVE_INFINITY;
    for (const at of nodes) {
      const own = floorTo(this.#free[at] ?? 0, groupSize);
      usable += own;
      if (own < smallest) smallest = own;
    }
    if (usable < count) return undefined;
    const even = floorTo(Math.floor(count / nodes.length), groupSize);
    if (even > smallest && isInOneSocket === undefined) return undefined;
    const each = Math.min(even, smallest);
    return {
      nodes: [...nodes],
      each,
      ...this.#remainder(nodes, each),
      isInOneSocket: isInOneSocket?.(nodes.map((at) => this.#input.nodes[at]?.id ?? -1)) ?? false,
    };
  }

  /** Which nodes give what is left after each gave the same; of equally balanced choices the one of most nodes. */
  #remainder(nodes: readonly number[], each: number): Remainder {
    const { count, groupSize } = this.#input;
    const groups = (count - each * nodes.length) / groupSize;
    let squares = 0;
    for (const [at, free] of this.#free.entries()) squares += (nodes.includes(at) ? free - each : free) ** 2;
    if (groups === 0) return { extra: new Map(), balance: this.#deviation(squares) };
    const able = nodes.filter((at) => (this.#free[at] ?? 0) - each >= groupSize);
    const left = able.map((at) => (this.#free[at] ?? 0) - each);
    const given: number[] = [];
    let best: Remainder | undefined;
    for (let size = able.length; size >= 1; size -= 1)
      forEachCombination(able.length, size, (chosen) => {
        this.#steps -= size + groups / 8 + stepsPerChoice;
        if (this.#steps < 0 && best !== undefined) return false;
        if (!dealGroups(left, chosen, groupSize, groups, given)) return true;
        const balance = this.#deviation(squares + squaresLost(left, chosen, groupSize, given));
        if (best === undefined || balance < best.balance)
          best = { extra: new Map(chosen.map((at, order) => [able[at] ?? 0, given[order] ?? 0])), balance };
        return true;
      });
    return best ?? { extra: new Map(), balance: Number.MAX_VALUE };
  }
}

function isBetter(candidate: Candidate, best: Candidate): boolean {
  if (candidate.isInOneSocket !== best.isInOneSocket) return candidate.isInOneSocket;
  return candidate.balance < best.balance;
}

function sharesOf(best: Candidate, { groupSize, nodes }: DistributionInput): readonly Share[] {
  return best.nodes.flatMap((at) => {
    const id = nodes[at]?.id ?? -1;
    const groups = Array.from({ length: best.extra.get(at) ?? 0 }, () => ({ id, cpus: groupSize }));
    return [{ id, cpus: best.each }, ...groups];
  });
}

/**
 * Takes one group of each chosen node in turn, as far as it has any, and counts them in `given`. False if there are too few.
 * differs from upstream, which counts CPUs here and never ends if they suffice only without whole groups.
 */
function dealGroups(
  left: readonly number[],
  chosen: readonly number[],
  groupSize: number,
  groups: number,
  given: number[],
): boolean {
  given.length = 0;
  for (let order = 0; order < chosen.length; order += 1) given.push(0);
  let needed = groups;
  for (let before = needed + 1; needed > 0 && needed < before; ) {
    before = needed;
    for (let order = 0; order < chosen.length && needed > 0; order += 1) {
      const taken = (given[order] ?? 0) + 1;
      if (taken * groupSize > (left[chosen[order] ?? 0] ?? 0)) continue;
      given[order] = taken;
      needed -= 1;
    }
  }
  return needed === 0;
}

/** How the sum of squares changes, a negative number. */
function squaresLost(
  left: readonly number[],
  chosen: readonly number[],
  groupSize: number,
  given: readonly number[],
): number {
  let change = 0;
  for (let order = 0; order < chosen.length; order += 1) {
    const before = left[chosen[order] ?? 0] ?? 0;
    const after = before - (given[order] ?? 0) * groupSize;
    change += after * after - before * before;
  }
  return change;
}

/** The standard deviation of values with this sum, by the sum of their squares; it and the mean have three decimals, as upstream's. */
function deviationOf(sum: number, values: number): (squares: number) => number {
  const mean = rounded(sum / values);
  const known = new Map<number, number>();
  return (squares) => {
    const found = known.get(squares);
    if (found !== undefined) return found;
    const variance = Math.max(0, squares - 2 * mean * sum + values * mean * mean) / values;
    const deviation = rounded(Math.sqrt(variance));
    known.set(squares, deviation);
    return deviation;
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}

/**
 * Calls visit with `size` ascending positions below `length`, in lexical order, until it returns false. The list changes
 * afterwards. differs from upstream, which keeps lists that change: it mistakes the best choice if that has 4 or more nodes.
 */
function forEachCombination(
  length: number,
  size: number,
  visit: (positions: readonly number[]) => boolean,
): void {
  if (size < 1 || size > length) return;
  const positions = Array.from({ length: size }, (_, at) => at);
  while (visit(positions)) {
    let last = size - 1;
    while (last >= 0 && positions[last] === length - size + last) last -= 1;
    if (last < 0) return;
    positions[last] = (positions[last] ?? 0) + 1;
    for (let at = last + 1; at < size; at += 1) positions[at] = (positions[at - 1] ?? 0) + 1;
  }
}
