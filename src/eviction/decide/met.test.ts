import { describe, expect, test } from 'vitest';
import { aThreshold, someObservations, thresholdValue } from '../../../test/builders/eviction.ts';
import { thresholdQuantity, thresholdsMet } from './met.ts';

describe('thresholdsMet', () => {
  const hard = aThreshold('memory.available', '1Gi', { reclaim: '500Mi' });
  const memory = aThreshold('memory.available', '20%', { reclaim: '5%' });
  const disk = aThreshold('nodefs.available', '30%');
  const both = [memory, disk];
  test.each([
    ['no thresholds', [], {}, false, []],
    ['no figure', [hard], {}, false, []],
    ['below', [hard], { 'memory.available': '500Mi' }, false, [hard]],
    ['above', [hard], { 'memory.available': '2Gi' }, false, []],
    ['exactly at it', [hard], { 'memory.available': '1Gi' }, false, []],
    ['one byte less', [hard], { 'memory.available': '1073741823' }, false, [hard]],
    ['above, but within the minimum reclaim', [hard], { 'memory.available': '1.05Gi' }, true, [hard]],
    ['the same, minimum reclaim ignored', [hard], { 'memory.available': '1.05Gi' }, false, []],
    ['above the minimum reclaim', [hard], { 'memory.available': '2Gi' }, true, []],
    [
      'both percentages',
      both,
      { 'memory.available': '100Mi/1000Mi', 'nodefs.available': '100Gi/1000Gi' },
      false,
      both,
    ],
    [
      'no percentage',
      both,
      { 'memory.available': '300Mi/1000Mi', 'nodefs.available': '400Gi/1000Gi' },
      false,
      [],
    ],
    [
      'the disk only',
      both,
      { 'memory.available': '300Mi/1000Mi', 'nodefs.available': '100Gi/1000Gi' },
      false,
      [disk],
    ],
    [
      'memory only',
      both,
      { 'memory.available': '100Mi/1000Mi', 'nodefs.available': '400Gi/1000Gi' },
      false,
      [memory],
    ],
    ['a percentage within its minimum reclaim', both, { 'memory.available': '225Mi/1000Mi' }, true, [memory]],
    ['a percentage above its minimum reclaim', both, { 'memory.available': '300Mi/1000Mi' }, true, []],
  ] as const)('%s', (_name, thresholds, rows, withMinReclaim, want) => {
    expect(thresholdsMet(thresholds, someObservations(rows), withMinReclaim)).toEqual(want);
  });
});

// The expected amounts are those of Go: int64(float64(capacity) × float64(float32(percentage)/100)).
test.each([
  ['a quantity keeps its text', '100Mi', 5, '100Mi'],
  ['also a decimal one', '0.5Gi', 5, '512Mi'],
  ['10 % of 16Gi: single precision adds 25 bytes', '10%', 16 * 2 ** 30, '1717986944'],
  ['15 % of 1000: single precision is above, rounded down', '15%', 1000, '150'],
  ['5 % of 1000', '5%', 1000, '50'],
  ['20 % of 10000', '20%', 10_000, '2000'],
  ['50 % of 4Ki in binary units', '50%', 4096, '2Ki'],
  ['0.0 %', '0.0%', 4096, '0'],
])('thresholdQuantity: %s', (_name, value, capacity, want) => {
  expect(String(thresholdQuantity(thresholdValue(value), capacity))).toBe(want);
});
