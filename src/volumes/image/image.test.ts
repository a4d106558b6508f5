import { expect, test } from 'vitest';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import type { ImageVolumeSource } from '../../api/k8s/types.ts';
import { imagePlugin } from './image.ts';

const signal = new AbortController().signal;
const cases: readonly (readonly [string, ImageVolumeSource, string, string])[] = [
  ['named', { reference: 'example.com/files:1' }, 'example.com/files:1', 'IfNotPresent'],
  ['always pulled', { reference: 'f:1', pullPolicy: 'Always' }, 'f:1', 'Always'],
  ['without a name', {}, '', 'IfNotPresent'],
];
for (const [name, image, reference, pullPolicy] of cases)
  test(`an image ${name} is left to the runtime, read-only`, async () => {
    expect(await imagePlugin.setUp(aSetUpRequest('image', { image }), signal)).toEqual({
      location: { kind: 'image', reference, pullPolicy },
      readOnly: true,
      managed: false,
    });
  });

test('there is nothing to measure and nothing to take down', async () => {
  expect(await imagePlugin.stats('/none', signal)).toBeUndefined();
  await imagePlugin.tearDown({ uid: 'u', directoryName: 'v', path: '/none' }, signal);
  expect(imagePlugin.canServe(aSetUpRequest('image', { emptyDir: {} }).spec)).toBe(false);
});
