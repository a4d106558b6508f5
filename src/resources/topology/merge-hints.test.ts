import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ResourceHints, TopologyHint } from './hint-provider.ts';
import { computeMergedHint } from './merge-hints.ts';
import { NumaNodes } from './numa-nodes.ts';
import type { TopologyPolicy } from './topology-policy.ts';

/** "01+": the nodes 0 and 1, preferred; "01-": not preferred; "*": no mask. */
function hint(text: string): TopologyHint {
  const nodes = text.slice(0, -1);
  const mask =
    nodes === '*' ? undefined : nodes.split('').reduce((sum, node) => sum | (1 << Number(node)), 0);
  return { mask, preferred: text.endsWith('+') };
}

/**
 * Providers are separated by " | ", resources by ", ", hints by blanks. The provider "none" returns nothing, the resource "any"
 * has no preference and the resource "full" is not available on any node.
 */
function providers(text: string): readonly ResourceHints[] {
  if (text === '') return [];
  return text.split(' | ').map((provider) => {
    if (provider === 'none') return new Map();
    return new Map(
      provider.split(', ').map((list, at) => {
        if (list === 'any') return [`r${at}`, undefined];
        return [`r${at}`, list === 'full' ? [] : list.split(' ').map(hint)];
      }),
    );
  });
}

const equalDistances = (count: number): NumaNodes =>
  new NumaNodes(Array.from({ length: count }, (_, id) => ({ id })));
/** Two sockets of four nodes, in pairs. The last one is farther from its neighbour than the neighbour from it. */
const twoSockets = new NumaNodes(
  [
    [10, 11, 12, 12, 30, 30, 30, 30],
    [11, 10, 12, 12, 30, 30, 30, 30],
    [12, 12, 10, 11, 30, 30, 30, 30],
    [12, 12, 11, 10, 30, 30, 30, 30],
    [30, 30, 30, 30, 10, 11, 12, 12],
    [30, 30, 30, 30, 11, 10, 12, 12],
    [30, 30, 30, 30, 12, 12, 10, 11],
    [30, 30, 30, 30, 12, 12, 13, 10],
  ].map((distances, id) => ({ id, distances })),
);

/** The cases of upstream's tables: hints, merged hint. */
const allPolicies = [
  ['0+ | 0+', '0+'],
  ['1+ | 1+', '1+'],
  ['none | 0+', '0+'],
  ['none | 1+', '1+'],
  ['0+ 1+ | 0+', '0+'],
  ['0+ 1+ | 1+', '1+'],
  ['0+ 1+ | 0+ 01-', '0+'],
  ['1+ 01- | 0+ 1+ 01-', '1+'],
  ['1+ 01-, 0+ 1+ 01-', '1+'],
] as const;
const severalNodes = [
  ['01+ 02+ | 01+ 02+', '01+'],
  ['0+ | 0-', '0-'],
  ['1+ | 1-', '1-'],
  ['0+ | 01+', '0-'],
  ['0+ 1+ | 01-', '0-'],
  ['1+ | 01+', '1-'],
  ['0123- 01- | 01-', '01-'],
  ['0123- 01- | 03-', '03-'],
  ['0123- 01- | 12-', '12-'],
  ['0123- 01- | 23-', '23-'],
] as const;
/** The merged hint is that of the whole machine: without a preference, or if nothing fits. */
const wholeMachine = [
  ['', true],
  ['none', true],
  ['any', true],
  ['full', false],
  ['*+', true],
  ['*-', false],
  ['0+ | 1+', false],
] as const;
const narrowest = [
  ['0123- 01- | 12- 23-', '12-'],
  ['0123- 01- | 123- 12- 13- 23-', '12-'],
] as const;
const closest = [
  ['04+ 02+ | 04+ 02+', '02+'],
  ['4+ 02+ | 4+ 02+', '4+'],
  ['0123- 01- | 12- 23-', '23-'],
  ['0123- 01- | 123- 12- 13- 23-', '23-'],
] as const;
const singleNode = [
  ['0+ | 0-', '*-'],
  ['1+ | 1-', '*-'],
  ['0+ 1+ | 01-', '*-'],
  ['01+, 0+ 1+ 01-', '*-'],
  ['0+ 1+ 01- | none', '0+'],
  ['0+ | 1+ *-, full', '*-'],
  ['0+ 01- *- | any, 0+ 1-', '0+'],
] as const;

for (const name of ['best-effort', 'restricted'] as const)
  for (const preferClosest of [false, true]) {
    const numa = preferClosest ? twoSockets : equalDistances(4);
    const merge = (hints: string) => computeMergedHint(providers(hints), { name, preferClosest }, numa);
    const ways = `${name}${preferClosest ? ', closest nodes' : ''}`;
    const expected = (merged: TopologyHint) => ({
      hint: merged,
      admit: name === 'best-effort' || merged.preferred,
    });
    for (const [hints, merged] of [...allPolicies, ...severalNodes, ...(preferClosest ? closest : narrowest)])
      test(`${ways}: merges ${hints} into ${merged}`, () =>
        expect(merge(hints)).toEqual(expected(hint(merged))));
    for (const [hints, preferred] of wholeMachine)
      test(`${ways}: merges "${hints}" into all nodes, ${preferred ? '' : 'not '}preferred`, () =>
        expect(merge(hints)).toEqual(expected({ mask: numa.all, preferred })));
  }

const one: TopologyPolicy = { name: 'single-numa-node', preferClosest: true };
for (const [hints, merged] of [...allPolicies, ...singleNode])
  test(`single-numa-node: merges ${hints} into ${merged}`, () =>
    expect(computeMergedHint(providers(hints), one, twoSockets)).toEqual({
      hint: hint(merged),
      admit: merged.endsWith('+'),
    }));
for (const [hints, preferred] of wholeMachine)
  test(`single-numa-node: merges "${hints}" into no mask, ${preferred ? '' : 'not '}preferred`, () =>
    expect(computeMergedHint(providers(hints), one, equalDistances(4))).toEqual({
      hint: { mask: undefined, preferred },
      admit: preferred,
    }));
test('single-numa-node: the only node of a machine is no mask', () =>
  expect(computeMergedHint(providers('0+'), one, equalDistances(1)).hint).toEqual(hint('*+')));

test('none: admits with an empty hint, whatever the hints are', () =>
  expect(
    computeMergedHint(providers('0+ | full'), { name: 'none', preferClosest: false }, equalDistances(2)),
  ).toEqual({ hint: hint('*-'), admit: true }));

/**
 * A case on which upstream's policies were run: the policy, whether the closest nodes are preferred, IDs of the nodes, their
 * distances by position, hints by provider and resource (2 · mask by position + 1 if preferred; -1 no mask, preferred; -2 no
 * mask), and the result: mask or -1, preferred, admitted.
 */
interface Golden {
  readonly p: TopologyPolicy['name'];
  readonly c?: boolean;
  readonly n: readonly number[];
  readonly d?: readonly (readonly number[])[];
  readonly h: readonly (readonly (readonly number[] | null)[] | null)[];
  readonly r: readonly number[];
}
const decoded = (value: number): TopologyHint =>
  value < 0 ? { mask: undefined, preferred: value === -1 } : { mask: value >> 1, preferred: value % 2 === 1 };

test("equals upstream's result on recorded random hints, in either order of a provider's resources", () => {
  const lines = readFileSync(new URL('golden/merge-hints.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  expect(lines.length).toBeGreaterThan(300);
  for (const line of lines) {
    const { c = false, d, h, n, p, r } = JSON.parse(line) as Golden;
    const numa = new NumaNodes(n.map((id, at) => ({ id, distances: d?.[at] ?? [] })));
    for (const reversed of [false, true]) {
      const hints = h.map((provider) => {
        const lists = (provider ?? []).map((list, at) => [`r${at}`, list?.map(decoded)] as const);
        return new Map(reversed ? lists.toReversed() : lists);
      });
      const { admit, hint: merged } = computeMergedHint(hints, { name: p, preferClosest: c }, numa);
      expect([merged.mask ?? -1, Number(merged.preferred), Number(admit)], line).toEqual(r);
    }
  }
});

test('merges four resources with every set of eight NUMA nodes at once', () => {
  const numa = equalDistances(8);
  const list = numa.subsets().map((mask) => ({ mask, preferred: false }));
  const hints = ['a', 'b', 'c', 'd'].map((name) => new Map([[name, list]]));
  // 255^4 combinations, which cannot be walked within the time limit of a test.
  expect(computeMergedHint(hints, { name: 'restricted', preferClosest: false }, numa)).toEqual({
    hint: { mask: 1, preferred: false },
    admit: false,
  });
});
