// The NUMA nodes of the machine, and sets of them as bit masks. Pure.
// A mask counts positions in the sorted list of node IDs, not IDs: IDs may have gaps and exceed 31, and comparing two masks by
// value gives the same order as upstream's masks of IDs.
// Upstream: pkg/kubelet/cm/topologymanager/bitmask, numa_info.go.

/** Bit i stands for the i-th NUMA node in the order of IDs. */
export type NumaMask = number;

/** Masks are enumerated (2^n of them) for every container, so a machine with more nodes is refused at start. */
export const mostNumaNodes = 16;

export class NumaNodes {
  /** Ascending. */
  readonly ids: readonly number[];
  /** To each node in the order of `ids`, by position; an empty list if unknown. */
  readonly distances: readonly (readonly number[])[];
  readonly #positions: ReadonlyMap<number, number>;

  constructor(nodes: readonly { readonly id: number; readonly distances?: readonly number[] }[]) {
    const sorted = nodes.toSorted((a, b) => a.id - b.id);
    this.ids = sorted.map(({ id }) => id);
    this.distances = sorted.map(({ distances = [] }) => distances);
    this.#positions = new Map(this.ids.map((id, at) => [id, at]));
  }

  get all(): NumaMask {
    return 2 ** this.ids.length - 1;
  }

  /** IDs that the machine does not have are ignored. */
  maskOf(ids: Iterable<number>): NumaMask {
    let mask = 0;
    for (const id of ids) {
      const at = this.#positions.get(id);
      if (at !== undefined) mask |= 1 << at;
    }
    return mask;
  }

  has(id: number): boolean {
    return this.#positions.has(id);
  }

  /** Ascending. */
  idsOf(mask: NumaMask): readonly number[] {
    return this.ids.filter((_, at) => (mask & (1 << at)) !== 0);
  }

  /** Every non-empty set of these nodes, smaller sets first, then by their lowest members, as upstream iterates. */
  subsets(mask: NumaMask = this.all): readonly NumaMask[] {
    const found: NumaMask[] = [];
    for (let each = 1; each <= mask; each += 1) if ((each & mask) === each) found.push(each);
    return found.toSorted((a, b) => bitCount(a) - bitCount(b) || compareMembers(a, b));
  }
}

export function bitCount(mask: NumaMask): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}

/** Of sets of the same size: 0 and 3 before 1 and 2. */
function compareMembers(a: NumaMask, b: NumaMask): number {
  const different = a ^ b;
  if (different === 0) return 0;
  return (a & different & -different) === 0 ? 1 : -1;
}
