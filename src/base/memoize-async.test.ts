import { expect, test } from 'vitest';
import { memoizeAsync } from './memoize-async.ts';

test('looks up once for all callers', async () => {
  let looks = 0;
  const get = memoizeAsync(async () => ++looks);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect(await get()).toBe(1);
});

test('looks up again after a failure', async () => {
  let looks = 0;
  const get = memoizeAsync(async () => {
    looks += 1;
    if (looks === 1) throw new Error('not yet');
    return looks;
  });
  await expect(get()).rejects.toThrow('not yet');
  expect(await get()).toBe(2);
});
