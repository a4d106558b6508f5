import { describe, expect, test } from 'vitest';
import {
  addAmounts,
  amountOf,
  equalAmounts,
  filterAmounts,
  formatAmounts,
  maxAmounts,
  noAmounts,
  overrideAmounts,
  parseAmounts,
} from './resource-amounts.ts';

const a = parseAmounts({ cpu: '500m', memory: '1Gi' });
const b = parseAmounts({ cpu: 1, pods: '110' });

describe('amounts', () => {
  const cases = [
    ['sum', addAmounts(a, b), { cpu: '1500m', memory: '1Gi', pods: '110' }],
    ['larger', maxAmounts(a, b), { cpu: '1', memory: '1Gi', pods: '110' }],
    ['larger, with swapped arguments', maxAmounts(b, a), { cpu: '1', memory: '1Gi', pods: '110' }],
    ['override', overrideAmounts(b, a), { cpu: '500m', memory: '1Gi', pods: '110' }],
    ['filter', filterAmounts(a, (name) => name === 'cpu'), { cpu: '500m' }],
    ['none', parseAmounts(undefined), {}],
    ['sum with no amounts', addAmounts(noAmounts, a), { cpu: '500m', memory: '1Gi' }],
  ] as const;
  test.each(cases)('%s', (_name, got, want) => {
    expect(formatAmounts(got)).toEqual(want);
  });

  test('mutates nothing', () => {
    addAmounts(a, b);
    maxAmounts(a, b);
    overrideAmounts(a, b);
    expect(formatAmounts(a)).toEqual({ cpu: '500m', memory: '1Gi' });
  });

  test('amountOf returns one amount', () => {
    expect([amountOf(a, 'cpu'), amountOf(a, 'pods')].map(String)).toEqual(['500m', '0']);
  });

  test('equalAmounts compares by value', () => {
    expect(equalAmounts(a, parseAmounts({ memory: '1024Mi', cpu: '0.5' }))).toBe(true);
    expect(equalAmounts(a, parseAmounts({ cpu: '500m' }))).toBe(false);
    expect(equalAmounts(a, parseAmounts({ cpu: '500m', disk: '1Gi' }))).toBe(false);
    expect(equalAmounts(a, parseAmounts({ cpu: '501m', memory: '1Gi' }))).toBe(false);
  });

  test('rejects a malformed quantity', () => {
    expect(() => parseAmounts({ cpu: 'x' })).toThrow(/^quantity "x"/);
  });
});
