import { expect, test } from 'vitest';
import { learnOnce } from './learn-once.ts';

test('is learnt once, for all who want it', async () => {
  let looks = 0;
  const get = learnOnce(async () => ++looks);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect(await get()).toBe(1);
});

test('is looked for again after a failure', async () => {
  let looks = 0;
  const get = learnOnce(async () => {
    looks += 1;
    if (looks === 1) throw new Error('not yet');
    return looks;
  });
  await expect(get()).rejects.toThrow('not yet');
  expect(await get()).toBe(2);
});
