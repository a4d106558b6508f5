import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { setDeadline } from './set-deadline.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('expires one turn of the event loop after it is due', async () => {
  const clock = new FakeClock();
  let expired = 0;
  setDeadline(clock, 10, () => (expired += 1));
  await clock.advance(9);
  await turn();
  expect(expired).toBe(0);
  await clock.advance(1);
  await turn();
  expect([expired, clock.pendingTimers()]).toEqual([1, 0]);
});

test('does not expire when cancelled, even in the turn after it is due', async () => {
  const clock = new FakeClock();
  let expired = 0;
  const early = setDeadline(clock, 10, () => (expired += 1));
  early.cancel();
  const late = setDeadline({ setTimer: (_ms, fn) => (fn(), { cancel: () => undefined }) }, 10, () => {
    expired += 1;
  });
  late.cancel();
  await turn();
  expect([expired, clock.pendingTimers()]).toEqual([0, 0]);
});
