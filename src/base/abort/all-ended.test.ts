import { expect, test } from 'vitest';
import { allEnded } from './all-ended.ts';

test('gives what each gave, in their order', async () => {
  const late = new Promise<number>((resolve) => setImmediate(() => resolve(1)));
  expect(await allEnded([late, Promise.resolve(2)])).toEqual([1, 2]);
  expect(await allEnded([])).toEqual([]);
});

test('a failure is told when the others have ended, and the first in their order is told', async () => {
  let ended = false;
  const late = new Promise<void>((resolve) =>
    setImmediate(() => {
      ended = true;
      resolve();
    }),
  );
  const failing = [Promise.reject(new Error('one')), late, Promise.reject(new Error('two'))];
  await expect(allEnded(failing)).rejects.toThrow('one');
  expect(ended).toBe(true);
});
