// Decides how many CPUs each NUMA node gives if a request is distributed evenly over as few nodes as possible: the same multiple
// of the group size from each, the remainder in groups from some of them, so that the free CPUs left on all nodes differ least.
// Pure. Upstream: takeByTopologyNUMADistributed in pkg/kubelet/cm/cpumanager/cpu_assignment.go, KEP-2902.
// Invariant: the search ends after a bounded number of steps, which suffices for every combination of 11 NUMA nodes.

export interface DistributionInput {
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
export interface Share {
  readonly id: number;
  readonly cpus: number;
}

interface Candidate {
  readonly nodes: readonly number[];
  readonly each: number;
  /** The positions that give the remainder, in turn. */
  readonly remainder: readonly number[];
  readonly balance: number;
  readonly isInOneSocket: boolean;
}

/** About 10 ms in the worst case. 8 nodes need at most 2 000 combinations of a few dozen steps each. */
const mostSteps = 1_000_000;

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
  readonly #deviations: (squares: number) => number;
  #steps = mostSteps;

  constructor(input: DistributionInput) {
    this.#input = input;
    this.#free = input.nodes.map(({ free }) => free);
    const left = this.#free.reduce((sum, each) => sum + each, 0) - input.count;
    this.#deviations = deviationOf(left, this.#free.length);
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
    let whole = 0;
    let smallest = Number.POSITIVE_INFINITY;
    for (const at of nodes) {
      const usable = floorTo(this.#free[at] ?? 0, groupSize);
      whole += usable;
      smallest = Math.min(smallest, usable);
    }
    if (whole < count) return undefined;
    const even = floorTo(Math.floor(count / nodes.length), groupSize);
    if (even > smallest && isInOneSocket === undefined) return undefined;
    const each = Math.min(even, smallest);
    const left = [...this.#free];
    for (const at of nodes) left[at] = (left[at] ?? 0) - each;
    const ids = nodes.map((at) => this.#input.nodes[at]?.id ?? -1);
    return {
      nodes,
      each,
      ...this.#remainder(nodes, left, count - each * nodes.length),
      isInOneSocket: isInOneSocket?.(ids) ?? false,
    };
  }

  /** Prefers more nodes only if they leave the machine more balanced than any smaller set. */
  #remainder(
    nodes: readonly number[],
    left: readonly number[],
    count: number,
  ): Pick<Candidate, 'remainder' | 'balance'> {
    if (count === 0) return { remainder: [], balance: this.#deviations(squaresOf(left)) };
    const { groupSize } = this.#input;
    const able = nodes.filter((at) => (left[at] ?? 0) >= groupSize);
    let best: Pick<Candidate, 'remainder' | 'balance'> | undefined;
    for (let size = able.length; size >= 1; size -= 1)
      forEachCombination(able.length, size, (chosen) => {
        if (this.#steps < 0 && best !== undefined) return false;
        const subset = chosen.map((at) => able[at] ?? 0);
        this.#steps -= size + count / groupSize;
        const after = deal(left, subset, count, groupSize);
        if (after === undefined) return true;
        const balance = this.#deviations(squaresOf(after));
        if (best === undefined || balance < best.balance) best = { remainder: subset, balance };
        return true;
      });
    return best ?? { remainder: able, balance: Number.MAX_VALUE };
  }
}

function isBetter(candidate: Candidate, best: Candidate): boolean {
  if (candidate.isInOneSocket !== best.isInOneSocket) return candidate.isInOneSocket;
  return candidate.balance < best.balance;
}

function sharesOf(best: Candidate, { count, groupSize, nodes }: DistributionInput): readonly Share[] {
  const shares = best.nodes.map((at) => ({ id: nodes[at]?.id ?? -1, cpus: best.each }));
  const left = nodes.map(({ free }, at) => (best.nodes.includes(at) ? free - best.each : free));
  deal(left, best.remainder, count - best.each * best.nodes.length, groupSize, (at) =>
    shares.push({ id: nodes[at]?.id ?? -1, cpus: groupSize }),
  );
  return shares;
}

/**
 * Takes one group of each node in turn until `count` CPUs are taken. Undefined if the nodes do not have that many groups.
 * differs from upstream, which counts CPUs instead of groups here and never ends if they suffice only without whole groups.
 */
function deal(
  left: readonly number[],
  nodes: readonly number[],
  count: number,
  groupSize: number,
  onGroup?: (at: number) => void,
): readonly number[] | undefined {
  const after = [...left];
  let needed = count;
  for (let before = -1; needed > 0 && needed !== before; ) {
    before = needed;
    for (const at of nodes) {
      if (needed === 0 || (after[at] ?? 0) < groupSize) continue;
      after[at] = (after[at] ?? 0) - groupSize;
      needed -= groupSize;
      onGroup?.(at);
    }
  }
  return needed > 0 ? undefined : after;
}

function squaresOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
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

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}

/** Calls visit with `size` ascending positions below `length`, in lexical order, until it returns false. */
function forEachCombination(
  length: number,
  size: number,
  visit: (positions: readonly number[]) => boolean,
): void {
  if (size < 1 || size > length) return;
  const positions = Array.from({ length: size }, (_, at) => at);
  while (visit([...positions])) {
    let last = size - 1;
    while (last >= 0 && positions[last] === length - size + last) last -= 1;
    if (last < 0) return;
    positions[last] = (positions[last] ?? 0) + 1;
    for (let at = last + 1; at < size; at += 1) positions[at] = (positions[at - 1] ?? 0) + 1;
  }
}
