import { expect, test } from 'vitest';
import { InFlight } from './in-flight.ts';

test('lists an operation until it settles, successfully or not', async () => {
  const ongoing = new InFlight<string>();
  const { promise, resolve } = withResolvers();
  const first = ongoing.during('a', 'one', () => promise);
  const second = ongoing.during('a', 'two', async () => {
    await promise;
    throw new Error('no');
  });
  expect([ongoing.activities('a'), ongoing.activities('b')]).toEqual([['one', 'two'], []]);
  resolve();
  await first;
  await expect(second).rejects.toThrow('no');
  expect(ongoing.activities('a')).toEqual([]);
});

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
