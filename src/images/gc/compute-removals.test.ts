import { expect, test } from 'vitest';
import {
  computeAged,
  computeCandidates,
  computeRemovable,
  computeSpaceGoal,
  type ImageGcPolicy,
} from './compute-removals.ts';
import type { ImageRecord } from './image-records.ts';

const minute = 60_000;

function record(id: string, over: Partial<ImageRecord> = {}): ImageRecord {
  return {
    key: id,
    id,
    handler: '',
    names: [`docker.io/library/${id}:1`],
    sizeBytes: 1024,
    pinned: false,
    firstDetectedMs: 0,
    lastUsedMs: undefined,
    ...over,
  };
}

function policy(over: Partial<ImageGcPolicy> = {}): ImageGcPolicy {
  return { highThresholdPercent: 90, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0, ...over };
}

const ids = (images: readonly ImageRecord[]): readonly string[] => images.map(({ id }) => id);
const none = (): boolean => false;

test.each<[string, readonly ImageRecord[], readonly string[], readonly string[]]>([
  ['no image', [], [], []],
  ['an image in use is none', [record('a'), record('b')], ['b'], ['a']],
  ['a pinned image is none', [record('a', { pinned: true }), record('b')], [], ['b']],
  ['all pinned', [record('a', { pinned: true }), record('b', { pinned: true })], [], []],
  [
    'the least recently used first',
    [record('b', { lastUsedMs: 5 }), record('a', { lastUsedMs: 3 })],
    [],
    ['a', 'b'],
  ],
  [
    'those never used before all others',
    [record('b', { lastUsedMs: 1 }), record('a', { firstDetectedMs: 9 })],
    [],
    ['a', 'b'],
  ],
  [
    'used at the same time: the longest known first',
    [record('b', { lastUsedMs: 5, firstDetectedMs: 2 }), record('a', { lastUsedMs: 5, firstDetectedMs: 1 })],
    [],
    ['a', 'b'],
  ],
  [
    'never used: the longest known first',
    [record('b', { firstDetectedMs: 2 }), record('a', { firstDetectedMs: 1 })],
    [],
    ['a', 'b'],
  ],
])('computeCandidates: %s', (_, records, inUse, want) => {
  expect(ids(computeCandidates(records, new Set(inUse), none))).toEqual(want);
});

test('computeCandidates: a kept image is none', () => {
  const records = [record('a'), record('b')];
  expect(ids(computeCandidates(records, new Set(), ({ id }) => id === 'a'))).toEqual(['b']);
});

test.each<[string, ImageRecord, Partial<ImageGcPolicy>, number, number]>([
  ['no maximum age', record('a'), { maxAgeMs: 0 }, Number.MAX_SAFE_INTEGER, 0],
  ['the kubelet is not up for longer', record('a'), { maxAgeMs: minute }, minute, 0],
  ['never used, known for longer', record('a'), { maxAgeMs: minute }, minute + 1, 1],
  [
    'never used, not known for longer',
    record('a', { firstDetectedMs: 1 }),
    { maxAgeMs: minute },
    minute + 1,
    0,
  ],
  ['used too recently', record('a', { lastUsedMs: 1 }), { maxAgeMs: minute }, minute + 1, 0],
  ['unused for longer', record('a', { lastUsedMs: 1 }), { maxAgeMs: minute }, minute + 2, 1],
  [
    'below the minimum age',
    record('a', { firstDetectedMs: 1, lastUsedMs: 1 }),
    { maxAgeMs: minute, minAgeMs: minute + 3 },
    minute + 2,
    0,
  ],
])('computeAged: %s', (_, image, over, nowMs, count) => {
  expect(computeAged([image], { nowMs, beganMs: 0 }, policy(over))).toHaveLength(count);
});

test.each<[string, ImageRecord, number, number]>([
  ['below the minimum age', record('a'), minute - 1, 0],
  ['at the minimum age', record('a'), minute, 1],
  ['used at this moment', record('a', { lastUsedMs: 2 * minute }), 2 * minute, 0],
  ['used before', record('a', { lastUsedMs: 2 * minute - 1 }), 2 * minute, 1],
])('computeRemovable: %s', (_, image, nowMs, count) => {
  expect(computeRemovable([image], nowMs, policy({ minAgeMs: minute }))).toHaveLength(count);
});

test.each<[string, number, number, Partial<ImageGcPolicy>, ReturnType<typeof computeSpaceGoal>]>([
  ['below the threshold', 1000, 600, {}, undefined],
  ['over it', 1000, 50, {}, { usagePercent: 95, bytes: 150 }],
  ['exactly at it', 1000, 100, {}, { usagePercent: 90, bytes: 100 }],
  ['a fraction below counts as used', 1000, 109, {}, { usagePercent: 90, bytes: 91 }],
  ['more available than the capacity', 1000, 2000, {}, undefined],
  ['nothing available', 1000, 0, {}, { usagePercent: 100, bytes: 200 }],
  [
    'thresholds of 0 on an empty disk',
    1000,
    1000,
    { highThresholdPercent: 0, lowThresholdPercent: 0 },
    { usagePercent: 0, bytes: 0 },
  ],
  [
    '100 is reached only when nothing is left',
    1000,
    9,
    { highThresholdPercent: 100, lowThresholdPercent: 80 },
    { usagePercent: 100, bytes: 191 },
  ],
  ['a petabyte, exactly', 2 ** 50, 2 ** 46, {}, { usagePercent: 94, bytes: 154_811_237_190_860 }],
])('computeSpaceGoal: %s', (_, capacityBytes, availableBytes, over, want) => {
  expect(computeSpaceGoal({ capacityBytes, availableBytes }, policy(over))).toEqual(want);
});
