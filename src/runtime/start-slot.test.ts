import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Slots } from '../base/slots.ts';
import { StartSlot } from './start-slot.ts';

function rig() {
  const clock = new FakeClock();
  const slots = new Slots({ clock, count: 1, leaseMs: 10_000 });
  const acquired: string[] = [];
  const { signal } = new AbortController();
  const pod = (order: number, steps: number): StartSlot =>
    new StartSlot(slots, clock, { order, steps, signal });
  const acquire = (name: string, slot: StartSlot): void => {
    void slot.acquire().then(() => acquired.push(name));
  };
  return { clock, acquired, pod, acquire };
}

test('holds the slot between steps and releases it after the last one', async () => {
  const { clock, acquired, pod, acquire } = rig();
  const [first, second] = [pod(1, 2), pod(2, 2)];
  await first.acquire();
  acquire('second', second);
  first.stepDone();
  await first.acquire();
  await clock.advance(0);
  expect(acquired).toEqual([]);
  first.stepDone();
  await clock.advance(0);
  expect(acquired).toEqual(['second']);
});

test('releases the slot during a long pause between steps and acquires it again by its order', async () => {
  const { clock, acquired, pod, acquire } = rig();
  const [first, second, third] = [pod(1, 3), pod(2, 1), pod(3, 1)];
  await first.acquire();
  acquire('second', second);
  acquire('third', third);
  first.stepDone();
  await clock.advance(249);
  expect(acquired).toEqual([]);
  await clock.advance(1);
  await clock.advance(0);
  expect(acquired).toEqual(['second']);
  acquire('first again', first);
  second.stepDone();
  await clock.advance(0);
  expect(acquired).toEqual(['second', 'first again']);
});

test('a released slot leaves no timer that would release a later one', async () => {
  const { clock, acquired, pod, acquire } = rig();
  const [first, second, third] = [pod(1, 5), pod(2, 2), pod(3, 1)];
  await first.acquire();
  first.stepDone();
  first.release();
  await second.acquire();
  acquire('third', third);
  await clock.advance(250);
  await clock.advance(0);
  expect(acquired).toEqual([]);
});

test('acquires another slot after a step that outlived its lease', async () => {
  const { clock, acquired, pod, acquire } = rig();
  const [first, second] = [pod(1, 2), pod(2, 1)];
  await first.acquire();
  acquire('second', second);
  await clock.advance(10_000);
  await clock.advance(0);
  expect(acquired).toEqual(['second']);
  first.stepDone();
  acquire('first again', first);
  await clock.advance(0);
  expect(acquired).toEqual(['second']);
  second.stepDone();
  await clock.advance(0);
  expect(acquired).toEqual(['second', 'first again']);
});
