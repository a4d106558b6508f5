import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { startSlotCount, startSlots } from './start-slots.ts';

const counts: readonly (readonly [cpus: number, slots: number])[] = [
  [0, 2],
  [1, 2],
  [2, 4],
  [3, 6],
  [4, 8],
  [8, 16],
  [16, 32],
];
test.each(counts)('on %i CPUs, %i pods start at once', (cpus, slots) => {
  expect(startSlotCount(cpus)).toBe(slots);
});

test('a start that hangs for ten seconds frees its slot for another pod', async () => {
  const clock = new FakeClock();
  const slots = startSlots(clock, 1);
  const started: number[] = [];
  for (const pod of [1, 2, 3]) void slots.acquire(pod).then(() => started.push(pod));
  await clock.advance(9_999);
  expect(started).toEqual([1, 2]);
  await clock.advance(1);
  expect(started).toEqual([1, 2, 3]);
});
