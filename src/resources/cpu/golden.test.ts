// Compares with the results of upstream v1.37.0-rc.1 in golden/static-policy.json: upstream's own tables and generated machines.
// The cases under "corrected" are those in which upstream never returns, takes CPUs that are not available, or confuses the chosen
// NUMA nodes (kubernetes/kubernetes pull requests 140730, 124561, 141238); their results are of upstream with corrections.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NumaNodes } from '../topology/numa-nodes.ts';
import { computeCpuHints } from './cpu-hints.ts';
import { CpuSet } from './cpu-set.ts';
import { CpuTopology } from './cpu-topology.ts';
import { type CpuStrategy, takeCpus } from './take-cpus.ts';

interface Golden {
  /** CPU IDs; counts of CPUs, cores and sockets; then per CPU: NUMA node, socket, core, cache. */
  readonly topologies: readonly string[];
  readonly takes: readonly string[];
  readonly corrected: readonly string[];
  readonly hints: readonly string[];
}

const golden = JSON.parse(
  readFileSync(new URL('golden/static-policy.json', import.meta.url), 'utf8'),
) as Golden;
const topologies = golden.topologies.map(decodeTopology);

/** `3*2,5-7` → 3, 3, 5, 6, 7. */
function decodeColumn(text: string): readonly number[] {
  return text.split(',').flatMap((part) => {
    const [, first = '', sign = '', second = first] = /^(\d+)([*-]?)(\d+)?$/.exec(part) ?? [];
    if (sign === '*') return Array.from({ length: Number(second) }, () => Number(first));
    return Array.from({ length: Number(second) - Number(first) + 1 }, (_, at) => Number(first) + at);
  });
}

function decodeTopology(text: string): CpuTopology {
  const [ids = '', cpus, cores, sockets, ...columns] = text.split(' ');
  const [numa = [], socket = [], core = [], cache = []] = columns.map(decodeColumn);
  const details = CpuSet.parse(ids).ids.map((id, at) => {
    const place = {
      numaNode: numa[at] ?? -1,
      socket: socket[at] ?? -1,
      core: core[at] ?? -1,
      uncoreCache: cache[at] ?? -1,
    };
    return [id, place] as const;
  });
  const counts = { numCpus: Number(cpus), numCores: Number(cores), numSockets: Number(sockets) };
  return new CpuTopology(new Map(details), counts);
}

function decodeStrategy(text: string): CpuStrategy {
  const [sort, ...options] = text.split('+');
  const group = options.find((option) => option.startsWith('numa'))?.slice('numa'.length);
  return {
    sort: sort === 'spread' ? 'spread' : 'packed',
    preferAlignByUncoreCache: options.includes('uncore'),
    ...(group !== undefined && {
      distribute: { groupSize: Number(group), alignBySocket: options.includes('socket') },
    }),
  };
}

const setOf = (text: string): CpuSet => CpuSet.parse(text === '-' ? '' : text);

function take(text: string): { readonly got: string; readonly want: string } {
  const [input = '', want = ''] = text.split(' > ');
  const [at, count, strategy = '', available = ''] = input.split(' ');
  const topology = topologies[Number(at)];
  if (topology === undefined) throw new Error(text);
  try {
    const taken = takeCpus(topology, setOf(available), Number(count), decodeStrategy(strategy));
    return { got: `${taken}`, want };
  } catch (err) {
    return { got: `!${(err as Error).message}`, want };
  }
}

for (const kind of ['takes', 'corrected'] as const)
  test(`chooses the CPUs that upstream chooses: ${kind}`, () => {
    expect(golden[kind].length).toBeGreaterThan(10);
    const different = golden[kind].filter((text) => {
      const { got, want } = take(text);
      return got !== want;
    });
    expect(different).toEqual([]);
  });

test('computes the hints that upstream computes', () => {
  expect(golden.hints.length).toBeGreaterThan(100);
  for (const text of golden.hints) {
    const [input = '', want = ''] = text.split(' > ');
    const [at, request, align, available = '', reusable = ''] = input.split(' ');
    const topology = topologies[Number(at)];
    if (topology === undefined) throw new Error(text);
    const hints = computeCpuHints({
      topology,
      numa: new NumaNodes(topology.numaNodes.map((id) => ({ id }))),
      request: Number(request),
      available: setOf(available),
      reusable: setOf(reusable),
      options: { alignBySocket: align === 'socket' },
    });
    const masks = hints.map(({ mask = 0, preferred }) => ({ mask, preferred }));
    const got = masks
      .toSorted((a, b) => a.mask - b.mask)
      .map(({ mask, preferred }) => (preferred ? -mask : mask));
    expect(got.join(' '), input).toBe(want);
  }
});
