import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Slots } from '../base/slots.ts';
import { StartSlot } from './start-slot.ts';

function room() {
  const clock = new FakeClock();
  const slots = new Slots({ clock, count: 1, leaseMs: 10_000 });
  const log: string[] = [];
  const { signal } = new AbortController();
  const pod = (order: number, steps: number): StartSlot =>
    new StartSlot(slots, clock, { order, steps, signal });
  const waits = (name: string, place: StartSlot): void => {
    void place.take().then(() => log.push(name));
  };
  return { clock, log, pod, waits };
}

test('a pod that has begun is not overtaken between its steps, and the last one lets the next pod in', async () => {
  const { clock, log, pod, waits } = room();
  const [first, second] = [pod(1, 2), pod(2, 2)];
  await first.take();
  waits('second', second);
  first.stepDone();
  await first.take();
  await clock.advance(0);
  expect(log).toEqual([]);
  first.stepDone();
  await clock.advance(0);
  expect(log).toEqual(['second']);
});

test('who waits for something else between two steps lets others in, and comes back by its order', async () => {
  const { clock, log, pod, waits } = room();
  const [first, second, third] = [pod(1, 3), pod(2, 1), pod(3, 1)];
  await first.take();
  waits('second', second);
  waits('third', third);
  first.stepDone();
  await clock.advance(249);
  expect(log).toEqual([]);
  await clock.advance(1);
  await clock.advance(0);
  expect(log).toEqual(['second']);
  waits('first again', first);
  second.stepDone();
  await clock.advance(0);
  expect(log).toEqual(['second', 'first again']);
});

test('a pass that ends early leaves at once, and its timer does nothing to a later one', async () => {
  const { clock, log, pod, waits } = room();
  const [first, second, third] = [pod(1, 5), pod(2, 2), pod(3, 1)];
  await first.take();
  first.stepDone();
  first.leave();
  await second.take();
  waits('third', third);
  await clock.advance(250);
  await clock.advance(0);
  expect(log).toEqual([]);
});

test('a step that outlives its lease is followed by another place, not by none', async () => {
  const { clock, log, pod, waits } = room();
  const [first, second] = [pod(1, 2), pod(2, 1)];
  await first.take();
  waits('second', second);
  await clock.advance(10_000);
  await clock.advance(0);
  expect(log).toEqual(['second']);
  first.stepDone();
  waits('first again', first);
  await clock.advance(0);
  expect(log).toEqual(['second']);
  second.stepDone();
  await clock.advance(0);
  expect(log).toEqual(['second', 'first again']);
});
