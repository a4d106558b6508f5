// Measures the allocation of exclusive CPUs: hints and choice of CPUs for pods on a machine with 256 CPUs, 8 NUMA nodes, 2 threads
// per core and split L3 caches, until the machine is full; then some pods end and others take their CPUs. One row per set of
// options. Prints tables without a verdict.
//
//   node tools/run-ts.mjs bench/managers.ts [--smoke] [--pods=200]
import { availableParallelism, loadavg } from 'node:os';
import { computeCpuHints } from '../src/resources/cpu/cpu-hints.ts';
import { type CpuOptions, cpuStrategyOf, parseCpuOptions } from '../src/resources/cpu/cpu-options.ts';
import { CpuSet } from '../src/resources/cpu/cpu-set.ts';
import { type CpuPlace, CpuTopology } from '../src/resources/cpu/cpu-topology.ts';
import { takeCpus } from '../src/resources/cpu/take-cpus.ts';
import { NumaNodes } from '../src/resources/topology/numa-nodes.ts';
import { percentile, table } from './statistics.ts';

const isSmoke = process.argv.includes('--smoke');
const podsGiven = process.argv.find((one) => one.startsWith('--pods='))?.split('=')[1];
const pods = Number(podsGiven ?? (isSmoke ? 20 : 200));
const rounds = isSmoke ? 1 : 5;

/** Requests in turn: from a single CPU to more than a NUMA node. */
const requests = [2, 4, 1, 8, 3, 16, 2, 6, 40, 12];

const optionSets: readonly (readonly [title: string, options: Readonly<Record<string, string>>])[] = [
  ['no options', {}],
  ['full-pcpus-only', { 'full-pcpus-only': 'true' }],
  ['distribute-cpus-across-numa', { 'distribute-cpus-across-numa': 'true' }],
  ['… and full-pcpus-only', { 'distribute-cpus-across-numa': 'true', 'full-pcpus-only': 'true' }],
  ['… and align-by-socket', { 'distribute-cpus-across-numa': 'true', 'align-by-socket': 'true' }],
  ['distribute-cpus-across-cores', { 'distribute-cpus-across-cores': 'true' }],
  ['prefer-align-cpus-by-uncorecache', { 'prefer-align-cpus-by-uncorecache': 'true' }],
];

/** 2 sockets, 8 NUMA nodes, 16 cores and 4 caches each; the second threads follow all first ones. */
function machine(): CpuTopology {
  const details = new Map<number, CpuPlace>();
  for (let cpu = 0; cpu < 256; cpu += 1) {
    const core = cpu % 128;
    const numaNode = Math.floor(core / 16);
    const uncoreCache = Math.floor(core / 4);
    details.set(cpu, { numaNode, socket: Math.floor(numaNode / 4), core, uncoreCache });
  }
  return new CpuTopology(details, { numCpus: 256, numCores: 128, numSockets: 2 });
}

interface Pod {
  readonly cpus: CpuSet;
}

/** The duration of each allocation in ms. The oldest pods end when the CPUs do not suffice. */
function measure(topology: CpuTopology, options: CpuOptions): readonly number[] {
  const numa = new NumaNodes(topology.numaNodes.map((id) => ({ id })));
  const strategy = cpuStrategyOf(options, topology);
  const running: Pod[] = [];
  const durations: number[] = [];
  let available = topology.cpus;
  for (let at = 0; at < pods; at += 1) {
    const wanted = requests[at % requests.length] ?? 1;
    const request = options.fullPcpusOnly ? wanted + (wanted % 2) : wanted;
    while (available.size < request) available = available.union(running.shift()?.cpus ?? CpuSet.empty);
    const before = performance.now();
    const hints = computeCpuHints({ topology, numa, request, available, reusable: CpuSet.empty, options });
    const best = hints.find(({ preferred }) => preferred) ?? hints[0];
    const nodes = best?.mask === undefined ? numa.ids : numa.idsOf(best.mask);
    const aligned = available.intersection(topology.cpusInNumaNodes(nodes));
    const cpus = takeCpus(topology, aligned.size < request ? available : aligned, request, strategy);
    durations.push(performance.now() - before);
    available = available.difference(cpus);
    running.push({ cpus });
    // Holes: pods do not end in the order of their start.
    if (at % 3 === 2)
      available = available.union(running.splice(running.length >> 1, 1)[0]?.cpus ?? CpuSet.empty);
  }
  return durations;
}

const inMicroMs = (ms: number): string => `${ms.toFixed(3)} ms`;
const topology = machine();
const load = loadavg()[0]?.toFixed(2);
console.log(`${pods} pods, ${rounds} rounds, 256 CPUs; ${availableParallelism()} CPUs here, load ${load}`);
const rows = optionSets.map(([title, record]) => {
  const options = parseCpuOptions(record);
  const first = measure(topology, options);
  const all = Array.from({ length: rounds }, () => measure(topology, options)).flat();
  const cold = inMicroMs(Math.max(...first));
  return [
    title,
    inMicroMs(percentile(all, 0.5)),
    inMicroMs(percentile(all, 0.99)),
    inMicroMs(Math.max(...all)),
    cold,
  ];
});
console.log(table([['options', 'p50', 'p99', 'max', 'max of the first round'], ...rows]));
