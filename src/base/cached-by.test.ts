import { expect, test } from 'vitest';
import { cachedBy } from './cached-by.ts';

test('computes again when an input is another value, and only then', () => {
  let [a, b, computed] = ['a', ['b'], 0];
  const joined = cachedBy(
    () => [a, b],
    (first, second) => `${first}${second.join('')}${computed++}`,
  );
  expect([joined(), joined()]).toEqual(['ab0', 'ab0']);
  a = 'c';
  expect([joined(), joined()]).toEqual(['cb1', 'cb1']);
  b = [...b];
  expect(joined()).toBe('cb2');
});

test('a failed computation is tried again', () => {
  let fails = true;
  const value = cachedBy(
    () => [],
    () => {
      if (fails) throw new Error('no');
      return 1;
    },
  );
  expect(value).toThrow('no');
  fails = false;
  expect(value()).toBe(1);
});
