import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Shared } from './shared.ts';

function world() {
  const clock = new FakeClock();
  const waiting: { resolve: (value: number) => void; reject: (err: Error) => void }[] = [];
  const shared = new Shared(
    clock,
    10_000,
    () => new Promise<number>((resolve, reject) => void waiting.push({ resolve, reject })),
  );
  return { clock, shared, waiting };
}

test('shares the result among callers during and after its computation', async () => {
  const { clock, shared, waiting } = world();
  const first = shared.get();
  await clock.advance(60_000);
  const second = shared.get();
  waiting[0]?.resolve(1);
  expect([await first, await second, waiting.length]).toEqual([1, 1, 1]);
});

test('computes again after the maximum age, or earlier if a caller requests a fresher result', async () => {
  const { clock, shared, waiting } = world();
  const first = shared.get();
  waiting[0]?.resolve(1);
  await first;
  await clock.advance(9_999);
  expect(await shared.get()).toBe(1);
  const fresher = shared.get(5_000);
  waiting[1]?.resolve(2);
  expect(await fresher).toBe(2);
  await clock.advance(10_000);
  void shared.get();
  expect(waiting).toHaveLength(3);
});

test('returns a failure without caching it', async () => {
  const { shared, waiting } = world();
  const first = shared.get();
  waiting[0]?.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  const second = shared.get();
  waiting[1]?.resolve(2);
  expect(await second).toBe(2);
});
