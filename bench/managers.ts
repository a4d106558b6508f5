// Measures allocation on a machine with 256 CPUs, 8 NUMA nodes, 2 threads per core and split L3 caches. First hints and choice of
// CPUs until the machine is full; then some pods end and others take their CPUs; one row per set of options. Second whole
// admissions by the topology manager with the CPU and memory managers; one row per policy. Prints tables without a verdict.
//
//   node tools/run-ts.mjs bench/managers.ts [--smoke] [--pods=200]
import { availableParallelism, loadavg } from 'node:os';
import { type PodUid, podUid } from '../src/api/pod/pod-ref.ts';
import { Metrics } from '../src/base/metrics.ts';
import { computeCpuHints } from '../src/resources/cpu/cpu-hints.ts';
import { type CpuOptions, cpuStrategyOf, parseCpuOptions } from '../src/resources/cpu/cpu-options.ts';
import { CpuSet } from '../src/resources/cpu/cpu-set.ts';
import { type CpuPlace, CpuTopology } from '../src/resources/cpu/cpu-topology.ts';
import { takeCpus } from '../src/resources/cpu/take-cpus.ts';
import { NumaNodes } from '../src/resources/topology/numa-nodes.ts';
import { TopologyManager } from '../src/resources/topology/topology-manager.ts';
import { TopologyMetrics } from '../src/resources/topology/topology-metrics.ts';
import type { TopologyPolicy } from '../src/resources/topology/topology-policy.ts';
import { aContainer, aPod } from '../test/builders/builders.ts';
import { CpuManagerRig } from '../test/builders/cpu-manager-rig.ts';
import { aNumaMachine, MemoryManagerKit } from '../test/builders/memory-manager.ts';
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

/** The duration of each whole admission in ms, beside 100 shared pods. The oldest pods end when the CPUs do not suffice. */
async function measureAdmissions(name: TopologyPolicy['name'], count: number): Promise<readonly number[]> {
  const cpus = new CpuManagerRig({ topology });
  await cpus.start();
  for (let at = 0; at < 100; at += 1) cpus.admit(`shared-${at}`, '100m');
  const memory = await new MemoryManagerKit().start({
    machine: aNumaMachine(Array.from({ length: 8 }, () => 64)),
  });
  const numa = new NumaNodes(topology.numaNodes.map((id) => ({ id })));
  const manager = new TopologyManager({
    providers: [cpus.manager, memory],
    policy: { name, preferClosest: false },
    scope: 'container',
    numa,
    observed: { get: () => undefined },
    metrics: new TopologyMetrics(new Metrics(), { monotonic: () => performance.now() }),
  });
  const running: PodUid[] = [];
  const durations: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const cpu = String(Math.min(requests[at % requests.length] ?? 1, 16));
    const amounts = { cpu, memory: `${Number(cpu)}Gi` };
    const pod = aPod({
      uid: `pod-${at}`,
      name: `pod-${at}`,
      containers: [aContainer({ resources: { requests: amounts, limits: amounts } })],
    });
    for (;;) {
      const before = performance.now();
      const rejection = manager.admit(pod);
      durations.push(performance.now() - before);
      const oldest = rejection === undefined ? undefined : running.shift();
      if (oldest === undefined) break;
      manager.release(oldest);
    }
    running.push(podUid(pod));
    // Holes: pods do not end in the order of their start.
    const ended = at % 3 === 2 ? running.splice(running.length >> 1, 1)[0] : undefined;
    if (ended !== undefined) manager.release(ended);
  }
  return durations;
}

const admissions: string[][] = [];
for (const name of ['none', 'best-effort', 'restricted', 'single-numa-node'] as const) {
  const first = await measureAdmissions(name, pods);
  const all: number[] = [];
  for (let round = 0; round < rounds; round += 1) all.push(...(await measureAdmissions(name, pods)));
  admissions.push([
    name,
    inMicroMs(percentile(all, 0.5)),
    inMicroMs(percentile(all, 0.99)),
    inMicroMs(Math.max(...all)),
    inMicroMs(Math.max(...first)),
  ]);
}
console.log(table([['whole admission', 'p50', 'p99', 'max', 'max of the first round'], ...admissions]));
process.exit();
