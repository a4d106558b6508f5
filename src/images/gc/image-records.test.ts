import { expect, test } from 'vitest';
import { Image } from '../../api/cri/generated/runtime/v1/api.ts';
import { type ImageRecord, type ListedImage, listedImage, updateRecords } from './image-records.ts';

function listed(id: string, over: Partial<ListedImage> = {}): ListedImage {
  return { key: id, id, handler: '', names: [], sizeBytes: 1, pinned: false, ...over };
}

type Times = readonly [string, number, number | undefined];

function times(records: ReadonlyMap<string, ImageRecord>): readonly Times[] {
  return [...records.values()].map(({ firstDetectedMs, key, lastUsedMs }) => [
    key,
    firstDetectedMs,
    lastUsedMs,
  ]);
}

const none: ReadonlyMap<string, ImageRecord> = new Map();

test('an image is detected once, and used as of the last detection that found it in use', () => {
  const first = updateRecords(none, [listed('a'), listed('b')], new Set(['b']), 10);
  expect(times(first)).toEqual([
    ['a', 10, undefined],
    ['b', 10, 10],
  ]);
  const second = updateRecords(first, [listed('a'), listed('b'), listed('c')], new Set(), 20);
  expect(times(second)).toEqual([
    ['a', 10, undefined],
    ['b', 10, 10],
    ['c', 20, undefined],
  ]);
  const third = updateRecords(second, [listed('b', { sizeBytes: 7, pinned: true })], new Set(['b']), 30);
  expect(times(third)).toEqual([['b', 10, 30]]);
  expect(third.get('b')).toMatchObject({ sizeBytes: 7, pinned: true });
});

test('an image that was removed and is pulled again is new', () => {
  const first = updateRecords(none, [listed('a')], new Set(['a']), 10);
  const gone = updateRecords(first, [], new Set(), 20);
  expect(times(updateRecords(gone, [listed('a')], new Set(), 30))).toEqual([['a', 30, undefined]]);
});

test('an ID that is listed twice is pinned if one of both is', () => {
  const twice = [listed('a', { pinned: true, names: ['x:1'] }), listed('a', { names: ['y:1'] })];
  expect(updateRecords(none, twice, new Set(), 1).get('a')).toMatchObject({
    pinned: true,
    names: ['x:1', 'y:1'],
  });
});

test.each([
  ['without the gate, whatever the runtime reports', 'kata', false, 'sha256:1'],
  ['by handler', 'kata', true, 'sha256:1,kata'],
  ['by ID alone if the runtime names no handler', '', true, 'sha256:1'],
])('the key of an image: %s', (_, runtimeHandler, byHandler, key) => {
  const image = Image.fromPartial({
    id: 'sha256:1',
    size: 5n,
    repoTags: ['a:1'],
    repoDigests: ['a@x'],
    spec: { runtimeHandler },
  });
  expect(listedImage(image, byHandler)).toMatchObject({ key, sizeBytes: 5, names: ['a:1', 'a@x'] });
});
