import { expect, test } from 'vitest';
import { startFailure } from './pod-spans.ts';

const missing = { reason: 'ErrImagePull', message: 'no "such" image' };
const broken = { reason: 'CreateContainerError', message: 'no room' };
const crashing = { reason: 'CrashLoopBackOff', message: 'back-off' };
const absent = { reason: 'ImagePullBackOff', message: 'back-off' };

const cases: readonly (readonly [string, Parameters<typeof startFailure>[0], string | undefined])[] = [
  ['nothing waits → none', {}, undefined],
  ['containers in back-off → none', { a: crashing, b: absent }, undefined],
  [
    'one failed → its reason and message, quoted',
    { a: missing, b: crashing },
    'failed to "StartContainer" for "a" with ErrImagePull: "no \\"such\\" image"',
  ],
  [
    'several failed → a list',
    { a: missing, b: broken },
    '[failed to "StartContainer" for "a" with ErrImagePull: "no \\"such\\" image", ' +
      'failed to "StartContainer" for "b" with CreateContainerError: "no room"]',
  ],
];
for (const [name, waiting, want] of cases)
  test(`startFailure: ${name}`, () => {
    expect(startFailure(waiting)).toBe(want);
  });
