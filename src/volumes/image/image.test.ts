import { expect, test } from 'vitest';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import { imagePlugin } from './image.ts';

const signal = new AbortController().signal;
test('leaves an image to the runtime, read-only', async () => {
  const image = { reference: 'example.com/files:1' };
  expect(await imagePlugin.setUp(aSetUpRequest('image', { image }), signal)).toEqual({
    location: { kind: 'image' },
    readOnly: true,
    managed: false,
  });
});

test('has nothing to measure or tear down', async () => {
  expect(await imagePlugin.stats('/none', signal)).toBeUndefined();
  await imagePlugin.tearDown({ uid: 'u', directoryName: 'v', path: '/none' }, signal);
  expect(imagePlugin.canServe(aSetUpRequest('image', { emptyDir: {} }).spec)).toBe(false);
});
