import { expect, test } from 'vitest';
import { KubeletError } from '../../base/errors.ts';
import { ageFailure, insufficientSpace, spaceFailure } from './gc-messages.ts';

test.each([
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1024 ** 2 - 1, '1024.0 KiB'],
  [1.5 * 1024 ** 2, '1.5 MiB'],
  [10 * 1024 ** 3, '10.0 GiB'],
  [3 * 1024 ** 4, '3.0 TiB'],
  [2048 * 1024 ** 4, '2048.0 TiB'],
])('a capacity of %i bytes is %s', (capacity, text) => {
  expect(insufficientSpace({ usagePercent: 95, bytes: 1 }, capacity, 524_288_000)).toBe(
    `Insufficient free disk space on the node's image filesystem (95% of ${text} used). Failed to free sufficient space by deleting unused images (freed 524288000 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`,
  );
});

test('failed removals are joined as upstream does', () => {
  const busy = new KubeletError('internal', 'UNKNOWN', 'busy');
  const locked = new KubeletError('internal', 'INTERNAL', 'locked');
  expect(spaceFailure(10, 3, [busy])).toBe(
    'wanted to free 10 bytes, but freed 3 bytes space with errors in image deletion: busy',
  );
  expect(ageFailure(60_000, [busy, locked, busy])).toBe(
    'wanted to free images older than 1m0s, encountered errors in image deletion: [busy, rpc error: code = Internal desc = locked]',
  );
});
