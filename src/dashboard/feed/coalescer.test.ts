import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Coalescer } from './coalescer.ts';

test('runs at once, then at most once per period', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const coalescer = new Coalescer({ clock, periodMs: 250, run: async () => void runs++ });
  for (let ms = 0; ms < 990; ms += 10) {
    coalescer.poke();
    await clock.advance(10);
  }
  expect(runs).toBe(4);
  await clock.advance(10_000);
  expect(runs).toBe(5);
  expect(clock.pendingTimers()).toBe(0);
});

test('a request during a run leads to another one, which does not overlap', async () => {
  const clock = new FakeClock();
  let running = 0;
  let most = 0;
  let runs = 0;
  const coalescer = new Coalescer({
    clock,
    periodMs: 100,
    run: async () => {
      most = Math.max(most, ++running);
      await clock.sleep(300);
      runs++;
      running--;
    },
  });
  coalescer.poke();
  await clock.advance(50);
  coalescer.poke();
  await clock.advance(1_000);
  expect({ most, runs }).toEqual({ most: 1, runs: 2 });
});

test('nothing runs once it is stopped', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const coalescer = new Coalescer({ clock, periodMs: 100, run: async () => void runs++ });
  coalescer.poke();
  coalescer.stop();
  coalescer.poke();
  await clock.advance(1_000);
  expect({ runs, timers: clock.pendingTimers() }).toEqual({ runs: 0, timers: 0 });
});
