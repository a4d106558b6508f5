import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

test('shrinks pieces that take long, and grows them again', () => {
  let nowMs = 0;
  const pace = new Pace({ monotonic: () => nowMs });
  const sizes: number[] = [];
  for (const tookMs of [0, 9, 9, 9, 9, 2, 0, 0]) {
    pace.run(() => {
      nowMs += tookMs;
    });
    sizes.push(pace.bytes / 1024);
  }
  expect(sizes).toEqual([64, 16, 4, 1, 1, 1, 2, 4]);
});
