import { expect, test } from 'vitest';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import type { ImageVolumeSource } from '../../api/k8s/types.ts';
import { imagePlugin } from './image.ts';

const signal = new AbortController().signal;
const cases: readonly (readonly [string, ImageVolumeSource, string, string])[] = [
  ['with a reference', { reference: 'example.com/files:1' }, 'example.com/files:1', 'IfNotPresent'],
  ['with pull policy Always', { reference: 'f:1', pullPolicy: 'Always' }, 'f:1', 'Always'],
  ['without a reference', {}, '', 'IfNotPresent'],
];
for (const [name, image, reference, pullPolicy] of cases)
  test(`passes an image ${name} to the runtime, read-only`, async () => {
    expect(await imagePlugin.setUp(aSetUpRequest('image', { image }), signal)).toEqual({
      location: { kind: 'image', reference, pullPolicy },
      readOnly: true,
      managed: false,
    });
  });

test('has nothing to measure or tear down', async () => {
  expect(await imagePlugin.stats('/none', signal)).toBeUndefined();
  await imagePlugin.tearDown({ uid: 'u', directoryName: 'v', path: '/none' }, signal);
  expect(imagePlugin.canServe(aSetUpRequest('image', { emptyDir: {} }).spec)).toBe(false);
});
