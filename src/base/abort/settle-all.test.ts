import { expect, test } from 'vitest';
import { settleAll } from './settle-all.ts';

test('resolves with the results in order', async () => {
  const late = new Promise<number>((resolve) => setImmediate(() => resolve(1)));
  expect(await settleAll([late, Promise.resolve(2)])).toEqual([1, 2]);
  expect(await settleAll([])).toEqual([]);
});

test('rejects with the first failure in order after all have settled', async () => {
  let ended = false;
  const late = new Promise<void>((resolve) =>
    setImmediate(() => {
      ended = true;
      resolve();
    }),
  );
  const failing = [Promise.reject(new Error('one')), late, Promise.reject(new Error('two'))];
  await expect(settleAll(failing)).rejects.toThrow('one');
  expect(ended).toBe(true);
});
