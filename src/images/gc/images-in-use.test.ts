import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { ListedImage } from './image-records.ts';
import { type ContainerImage, computeInUse, isNamed, wantedNames } from './images-in-use.ts';

const digest = `sha256:${'d'.repeat(64)}`;
const id = `sha256:${'1'.repeat(64)}`;

function listed(over: Partial<ListedImage> = {}): ListedImage {
  const names = ['docker.io/library/app:1', `docker.io/library/app@${digest}`];
  return { key: id, id, handler: '', names, sizeBytes: 1, pinned: false, ...over };
}

const kata = listed({ key: `${id},kata`, handler: 'kata' });
const runc = listed({ key: `${id},runc`, handler: 'runc' });

test.each<[string, ListedImage, ContainerImage, boolean]>([
  ['its ID', listed(), { ref: id, handler: '' }, true],
  [
    'a digest, as older runtimes report it',
    listed(),
    { ref: `docker.io/library/app@${digest}`, handler: '' },
    true,
  ],
  ['another image', listed(), { ref: 'sha256:2', handler: '' }, false],
  ['nothing', listed({ names: [] }), { ref: '', handler: '' }, false],
  ['the same handler', kata, { ref: id, handler: 'kata' }, true],
  ['another handler', kata, { ref: id, handler: 'runc' }, false],
  ['no handler, as runtimes without them report it', kata, { ref: id, handler: '' }, true],
  ['a handler, while the image has none', listed(), { ref: id, handler: 'kata' }, true],
])('a container with %s', (_, image, container, used) => {
  expect(computeInUse([image], { containers: [container], names: new Set() }).has(image.key)).toBe(used);
});

test('containers of two handlers use the images of both', () => {
  const containers = ['kata', 'runc'].map((handler) => ({ ref: id, handler }));
  expect([
    ...computeInUse([kata, runc, listed({ key: 'x', id: 'x', names: [] })], { containers, names: new Set() }),
  ]).toEqual([kata.key, runc.key]);
});

test('an image volume uses the image of every handler', () => {
  expect(computeInUse([kata, runc], { containers: [], names: new Set([id]) }).size).toBe(2);
});

test.each([
  ['app:1', true],
  ['docker.io/app:1', true],
  ['index.docker.io/library/app:1', true],
  [`app@${digest}`, true],
  [`app:9@${digest}`, true],
  [id, true],
  [id.slice(7), true],
  ['app', false],
  ['app:2', false],
  ['other.example/app:1', false],
  ['not a NAME', false],
  ['', false],
])('the spec of a pod wants the image %s: %s', (image, wanted) => {
  const places = [
    { containers: [aContainer({ image })] },
    { initContainers: [aContainer({ image })], containers: [] },
    { containers: [], ephemeralContainers: [{ name: 'e', image }] },
    { containers: [], volumes: [{ name: 'v', image: { reference: image } }] },
  ];
  const found = places.map((place) => isNamed(listed(), wantedNames([aPod(place)])));
  expect(found).toEqual(places.map(() => wanted));
});
