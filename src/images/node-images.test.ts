import { expect, test } from 'vitest';
import { nodeImages } from './node-images.ts';

const image = (id: string, size: bigint, tags = [id]): Parameters<typeof nodeImages>[0][number] => ({
  id,
  size,
  repoTags: tags,
  repoDigests: [`${id}@sha256:1`],
});
const images = [image('a', 5n), image('c', 9n), image('b', 5n)];

test.each([
  [-1, ['c', 'b', 'a']],
  [2, ['c', 'b']],
  [0, []],
  [50, ['c', 'b', 'a']],
])('at most %i, largest first', (limit, want) => {
  expect(nodeImages(images, limit).map(({ names }) => names?.[1])).toEqual(want);
});

test('digests before tags, five names at most', () => {
  expect(nodeImages([image('x', 7n, ['1', '2', '3', '4', '5'])], -1)).toEqual([
    { names: ['x@sha256:1', '1', '2', '3', '4'], sizeBytes: 7 },
  ]);
});
