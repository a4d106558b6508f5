import { expect, test } from 'vitest';
import { isDisabledThreshold, isEvictionSignal, parsePercentage } from './eviction-threshold.ts';

test.each([
  ['25.5%', Math.fround(0.255)],
  ['10%', Math.fround(0.1)],
  ['.5%', Math.fround(0.005)],
  ['1e1%', Math.fround(0.1)],
  // In single precision at each step: 0.1 is not exact.
  ['0.1%', Math.fround(Math.fround(0.1) / 100)],
  ['100.000001%', 1],
  ['150%', 1.5],
  ['-15%', Math.fround(-0.15)],
  ['blah', undefined],
  ['foo%', undefined],
  ['12%345', undefined],
  ['10..5%', undefined],
  ['%', undefined],
  ['NaN%', undefined],
  ['Infinity%', undefined],
  ['1e39%', undefined],
])('reads %s', (text, want) => {
  expect(parsePercentage(text)).toBe(want);
});

test('only 0% and 100% disable a threshold', () => {
  const texts = ['0%', '100%', '0', '0.0%', '100.0%', '', '50%'];
  expect(texts.filter(isDisabledThreshold)).toEqual(['0%', '100%']);
});

test('knows its signals', () => {
  const texts = ['memory.available', 'containerfs.inodesFree', 'mem.available', 'toString'];
  expect(texts.filter(isEvictionSignal)).toEqual(['memory.available', 'containerfs.inodesFree']);
});
