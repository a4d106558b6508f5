import { expect, test } from 'vitest';
import { isBetterHint } from './hint-order.ts';

const nodes = (text: string): number => text.split('').reduce((mask, node) => mask | (1 << Number(node)), 0);
const hint = (text: string) => ({ mask: nodes(text.slice(0, -1)), preferred: text.endsWith('+') });

/** Nodes needed, the better hint, the worse hint: the cases of upstream's table. */
const bySize = [
  [0, '0+', '0-'],
  [0, '01+', '0-'],
  [0, '0+', '01+'],
  [1, '01-', '12-'],
  [1, '0-', '01-'],
  [1, '01-', '012-'],
  [2, '01-', '0-'],
  [2, '01-', '12-'],
  [2, '01-', '012-'],
  [2, '0-', '012-'],
  [3, '01-', '0-'],
  [3, '12-', '0-'],
  [4, '123-', '01-'],
  [4, '012-', '123-'],
  [4, '0-', '1-'],
] as const;
for (const [nodesNeeded, better, worse] of bySize)
  test(`${better} is better than ${worse} if ${nodesNeeded} nodes are needed`, () => {
    const order = { nodesNeeded, distances: undefined };
    expect(isBetterHint(hint(better), hint(worse), order)).toBe(true);
    expect(isBetterHint(hint(worse), hint(better), order)).toBe(false);
    expect(isBetterHint(hint(better), hint(better), order)).toBe(false);
  });

const pairs = [
  [10, 11, 12, 12],
  [11, 10, 12, 12],
  [12, 12, 10, 11],
  [12, 12, 11, 10],
];
const equal = pairs.map((row) => row.map(() => 10));
const byDistance = [
  ['fewer nodes', pairs, '0+', '02+'],
  ['fewer nodes, although the distance is larger', [[30], [], []], '0+', '12+'],
  ['the lower nodes at equal distance', equal, '01+', '02+'],
  ['the lower nodes at equal distance', equal, '02-', '03-'],
  ['the shorter distance', pairs, '01+', '03+'],
  ['the shorter distance, although the nodes are higher', pairs, '23+', '03+'],
  ['the shorter distance, although the nodes are higher', pairs, '23-', '12-'],
] as const;
for (const [why, distances, better, worse] of byDistance)
  test(`with distances, ${better} is better than ${worse}: ${why}`, () => {
    const order = { nodesNeeded: 2, distances };
    expect(isBetterHint(hint(better), hint(worse), order)).toBe(true);
    expect(isBetterHint(hint(worse), hint(better), order)).toBe(false);
  });
