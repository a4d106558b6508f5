// Equality with upstream is in golden.test.ts; here is what upstream's results do not show.
import {
  type Arbitrary,
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  infiniteStream,
  integer,
  nat,
  oneof,
  property,
  record,
} from 'fast-check';
import { expect, test } from 'vitest';
import { cpuStrategyOf, parseCpuOptions } from './cpu-options.ts';
import { CpuSet } from './cpu-set.ts';
import { type CpuPlace, CpuTopology } from './cpu-topology.ts';
import { computeDistribution } from './distribute-cpus.ts';
import { type CpuStrategy, takeCpus } from './take-cpus.ts';

const packed: CpuStrategy = { sort: 'packed', preferAlignByUncoreCache: false };

/** The threads of each core as a number, of each NUMA node as a list; one socket per `nodesPerSocket` nodes. */
function machine(nodes: readonly (readonly number[])[], nodesPerSocket = 1): CpuTopology {
  const details = new Map<number, CpuPlace>();
  for (const [numaNode, cores] of nodes.entries())
    for (const threads of cores) {
      const core = details.size;
      const socket = Math.floor(numaNode / nodesPerSocket);
      for (let thread = 0; thread < threads; thread += 1)
        details.set(core + thread, { numaNode, socket, core, uncoreCache: numaNode });
    }
  return new CpuTopology(details, {
    numCpus: details.size,
    numCores: nodes.flat().length,
    numSockets: Math.ceil(nodes.length / nodesPerSocket),
  });
}

const strategies = record({
  sort: constantFrom('packed', 'spread'),
  preferAlignByUncoreCache: boolean(),
}) satisfies Arbitrary<CpuStrategy>;
const distributions = record({
  sort: constantFrom('packed', 'spread'),
  preferAlignByUncoreCache: constant(false),
  distribute: record({ groupSize: integer({ min: 1, max: 4 }), alignBySocket: boolean() }),
}) satisfies Arbitrary<CpuStrategy>;

test('takes as many CPUs as requested, only available ones, on machines with cores and sockets of any size', () => {
  const cores = array(integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 });
  assert(
    property(
      array(cores, { minLength: 1, maxLength: 8 }),
      integer({ min: 1, max: 4 }),
      infiniteStream(boolean()),
      nat(),
      oneof(strategies, distributions),
      (nodes, nodesPerSocket, isFree, number, strategy) => {
        const topology = machine(nodes, nodesPerSocket);
        const available = CpuSet.of(topology.cpus.ids.filter(() => isFree.next().value === true));
        const count = number % (available.size + 1);
        const taken = takeCpus(topology, available, count, strategy);
        expect([taken.size, taken.isSubsetOf(available)]).toEqual([count, true]);
      },
    ),
  );
});

test('ignores available CPUs that the machine does not have', () => {
  const available = CpuSet.parse('1,100');
  expect(`${takeCpus(machine([[1, 1]]), available, 1, packed)}`).toBe('1');
  expect(() => takeCpus(machine([[1, 1]]), available, 2, packed)).toThrow(
    'not enough cpus available to satisfy request: requested=2, available=2',
  );
});

test('never takes a CPU that is not available on a processor with cores of different sizes', () => {
  // 2 cores with 2 threads and 2 with 1: upstream takes 1.5 threads per core for 1, so CPU 1 for a free core, and with it CPU 0.
  const topology = machine([[2, 2, 1, 1]]);
  expect(`${takeCpus(topology, CpuSet.parse('1-5'), 3, packed)}`).not.toContain('0');
});

test('finds the most balanced choice also of more than four NUMA nodes', () => {
  // 5 nodes of 4 CPUs are needed; those of socket 1 are free as a whole.
  const node = [1, 1, 1, 1];
  const topology = machine(
    Array.from({ length: 12 }, () => node),
    6,
  );
  const strategy = { ...packed, distribute: { groupSize: 1, alignBySocket: true } };
  const taken = takeCpus(topology, topology.cpus, 20, strategy);
  expect(topology.socketsOf(taken)).toHaveLength(1);
  expect(topology.numaNodesOf(taken)).toHaveLength(5);
});

test('ends the search for a distribution over any number of NUMA nodes', () => {
  const nodes = Array.from({ length: 60 }, (_, id) => ({ id, free: 17 + ((id * 7) % 5) + (id % 3) }));
  const shares = computeDistribution({
    nodes,
    count: 600,
    groupSize: 2,
    machine: { cpus: 1200, numaNodes: 60 },
    isInOneSocket: () => false,
  });
  const total = shares?.reduce((sum, { cpus }) => sum + cpus, 0);
  expect(total ?? 600).toBe(600);
});

test('gives whole groups only, where upstream never returns', () => {
  // Each node has 3 CPUs left after the same number of each: 9 CPUs, but only 3 groups of 2.
  const nodes = Array.from({ length: 5 }, (_, id) => ({ id, free: id < 3 ? 5 : 8 }));
  const shares = computeDistribution({ nodes, count: 18, groupSize: 2, machine: { cpus: 40, numaNodes: 5 } });
  expect(shares?.reduce((sum, { cpus }) => sum + cpus, 0)).toBe(18);
});

test('reads options with the values of Go booleans', () => {
  for (const value of ['1', 't', 'T', 'TRUE', 'true', 'True'])
    expect(parseCpuOptions({ 'full-pcpus-only': value }).fullPcpusOnly).toBe(true);
  for (const value of ['0', 'f', 'F', 'FALSE', 'false', 'False'])
    expect(parseCpuOptions({ 'full-pcpus-only': value }).fullPcpusOnly).toBe(false);
});

const allOff = parseCpuOptions({});
const cases = [
  ['no options', {}, { sort: 'packed', preferAlignByUncoreCache: false }],
  ['cores', { distributeAcrossCores: true }, { sort: 'spread', preferAlignByUncoreCache: false }],
  ['caches', { preferAlignByUncoreCache: true }, { sort: 'packed', preferAlignByUncoreCache: true }],
  [
    'NUMA nodes',
    { distributeAcrossNuma: true, alignBySocket: true },
    { ...packed, distribute: { groupSize: 1, alignBySocket: true } },
  ],
  [
    'NUMA nodes and whole cores',
    { distributeAcrossNuma: true, fullPcpusOnly: true },
    { ...packed, distribute: { groupSize: 2, alignBySocket: false } },
  ],
] as const;
for (const [name, options, strategy] of cases)
  test(`derives the strategy from the options: ${name}`, () => {
    const topology = machine([
      [2, 2],
      [2, 2],
    ]);
    expect(cpuStrategyOf({ ...allOff, ...options }, topology)).toEqual(strategy);
  });

test('rejects align-by-socket on a machine with more sockets than NUMA nodes', () => {
  const details = new Map([0, 1].map((id) => [id, { numaNode: 0, socket: id, core: id, uncoreCache: id }]));
  const topology = new CpuTopology(details, { numCpus: 2, numCores: 2, numSockets: 2 });
  expect(() => cpuStrategyOf({ ...allOff, alignBySocket: true }, topology)).toThrow(
    'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
  );
});
