import { expect, test } from 'vitest';
import { Ongoing } from './ongoing.ts';

test('what goes on is told until it settles, well or not', async () => {
  const ongoing = new Ongoing<string>();
  const { promise, resolve } = withResolvers();
  const first = ongoing.during('a', 'one', () => promise);
  const second = ongoing.during('a', 'two', async () => {
    await promise;
    throw new Error('no');
  });
  expect([ongoing.of('a'), ongoing.of('b')]).toEqual([['one', 'two'], []]);
  resolve();
  await first;
  await expect(second).rejects.toThrow('no');
  expect(ongoing.of('a')).toEqual([]);
});

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
