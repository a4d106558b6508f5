import { expect, test } from 'vitest';
import { NumaNodes } from './numa-nodes.ts';
import { computeTopologyPolicy, type TopologyPolicy } from './topology-policy.ts';

const machine = (count: number, distances = true): NumaNodes =>
  new NumaNodes(
    Array.from({ length: count }, (_, id) => ({
      id: 2 * id,
      distances: distances ? Array.from({ length: count }, (_each, other) => (other === id ? 10 : 20)) : [],
    })),
  );
const policyOf = (
  name: TopologyPolicy['name'],
  options: Readonly<Record<string, string>>,
  numa: NumaNodes,
): TopologyPolicy =>
  computeTopologyPolicy({ topologyManagerPolicy: name, topologyManagerPolicyOptions: options }, numa);

const suited = [
  ['none', {}, machine(40), false],
  ['none', { 'prefer-closest-numa-nodes': 'true' }, machine(2, false), false],
  ['best-effort', {}, machine(8, false), false],
  ['best-effort', { 'prefer-closest-numa-nodes': 'T' }, machine(8), true],
  ['restricted', { 'prefer-closest-numa-nodes': 'false' }, machine(2, false), false],
  ['restricted', { 'max-allowable-numa-nodes': '12' }, machine(12), false],
  ['single-numa-node', { 'prefer-closest-numa-nodes': '1' }, machine(1), true],
  ['single-numa-node', { 'max-allowable-numa-nodes': '16' }, machine(16), false],
] as const;
for (const [name, options, numa, preferClosest] of suited)
  test(`${name} with ${JSON.stringify(options)} suits ${numa.ids.length} NUMA nodes`, () =>
    expect(policyOf(name, options, numa)).toEqual({ name, preferClosest }));

const unsuited = [
  ['best-effort', {}, machine(9), 'unsupported on machines with more than 8 NUMA Nodes'],
  [
    'single-numa-node',
    { 'max-allowable-numa-nodes': '12' },
    machine(13),
    'unsupported on machines with more than 12 NUMA Nodes',
  ],
  [
    'restricted',
    { 'max-allowable-numa-nodes': '64' },
    machine(17),
    'unsupported on machines with more than 16 NUMA Nodes, whatever max-allowable-numa-nodes is; this machine has 17: set topologyManagerPolicy to "none"',
  ],
  [
    'restricted',
    { 'prefer-closest-numa-nodes': 'true' },
    machine(2, false),
    'cannot discover NUMA topology: the distances of NUMA node 0 are unknown',
  ],
  [
    'best-effort',
    { 'prefer-closest-numa-nodes': 'true' },
    new NumaNodes([
      { id: 0, distances: [10, 20] },
      { id: 3, distances: [20] },
    ]),
    'cannot discover NUMA topology: the distances of NUMA node 3 are unknown',
  ],
] as const;
for (const [name, options, numa, message] of unsuited)
  test(`${name} with ${JSON.stringify(options)} on ${numa.ids.length} NUMA nodes: ${message}`, () =>
    expect(() => policyOf(name, options, numa)).toThrow(message));
