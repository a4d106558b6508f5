import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { InFlightCalls } from './in-flight-calls.ts';

test('lists a call until it ends, with its deadline', async () => {
  const clock = new FakeClock();
  const calls = new InFlightCalls(clock);
  const beganMs = clock.now();
  const version = calls.begin('runtime', 'Version', 5_000);
  await clock.advance(100);
  const pull = calls.begin('images', 'PullImage', Number.POSITIVE_INFINITY);
  expect(calls.list()).toEqual([
    { to: 'runtime', method: 'Version', sinceMs: beganMs, deadlineMs: beganMs + 5_000 },
    { to: 'images', method: 'PullImage', sinceMs: beganMs + 100 },
  ]);
  version.end();
  version.end();
  expect(calls.list()).toHaveLength(1);
  pull.end();
  expect(calls.list()).toEqual([]);
});

test('a call does not become older when the wall clock is changed', async () => {
  const clock = new FakeClock();
  const calls = new InFlightCalls(clock);
  calls.begin('csi', 'NodeGetInfo', 1_000);
  await clock.advance(10);
  clock.stepWall(3_600_000);
  expect(clock.now() - (calls.list()[0]?.sinceMs ?? 0)).toBe(10);
});

test('lists at most the 100 oldest calls, with a bounded text', () => {
  const calls = new InFlightCalls(new FakeClock());
  for (let count = 0; count < 1_000; count++)
    calls.begin('api-server', `GET /${count}/${'x'.repeat(1_000)}`, 1);
  const listed = calls.list();
  expect(listed).toHaveLength(100);
  expect(listed[99]?.method).toMatch(/^GET \/99\/x+$/);
  expect(listed[99]?.method).toHaveLength(200);
});
