import { expect, test } from 'vitest';
import { Slices } from './slices.ts';

test('pauses at the first opportunity after three milliseconds, and not before', async () => {
  let nowMs = 100;
  const pauses: number[] = [];
  const slices = new Slices({
    clock: { monotonic: () => nowMs },
    pause: async () => {
      pauses.push(nowMs);
      nowMs += 50;
    },
  });
  for (let at = 0; at < 8; at++) {
    nowMs += 1;
    await slices.yieldIfDue();
  }
  expect(pauses).toEqual([103, 156]);
});

test('takes shorter slices on request', async () => {
  let nowMs = 0;
  let pauses = 0;
  const slices = new Slices({
    clock: { monotonic: () => nowMs },
    pause: async () => void pauses++,
    sliceMs: 1,
  });
  for (let at = 0; at < 8; at++) {
    nowMs += 0.5;
    await slices.yieldIfDue();
  }
  expect(pauses).toBe(4);
});
