import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

function bench(bytesPerTurn: number) {
  const next: (() => void)[] = [];
  const done: string[] = [];
  const turns = new Turns({ nextTurn: (fn) => next.push(fn), bytesPerTurn });
  const ask = (name: string, bytes: number): void => {
    void turns.take(bytes).then(() => done.push(name));
  };
  const turn = async (): Promise<string[]> => {
    for (const fn of next.splice(0)) fn();
    await Promise.resolve();
    return done.splice(0);
  };
  return { ask, turn, scheduled: () => next.length };
}

test('grants a limited number of bytes per turn, in the order of requests', async () => {
  const { ask, scheduled, turn } = bench(100);
  for (const name of ['a', 'b', 'c', 'd']) ask(name, 40);
  expect(scheduled()).toBe(1);
  expect(await turn()).toEqual(['a', 'b']);
  ask('e', 10);
  expect(await turn()).toEqual(['c', 'd', 'e']);
  expect(scheduled()).toBe(0);
});

test('grants a piece larger than the limit alone', async () => {
  const { ask, turn } = bench(100);
  ask('large', 1_000);
  ask('small', 1);
  expect(await turn()).toEqual(['large']);
  expect(await turn()).toEqual(['small']);
  ask('later', 5);
  expect(await turn()).toEqual(['later']);
});
