import { expect, test } from 'vitest';
import { isObject, isPresent } from './guards.ts';

const values = [{}, { a: 1 }, [], [{}], null, undefined, 'a', '', 0, false, () => ({})];

test('isObject accepts objects and rejects arrays, null, functions and scalars', () =>
  expect(values.filter(isObject)).toEqual([{}, { a: 1 }]));

test('isPresent rejects null and undefined only', () =>
  expect(values.filter((value) => !isPresent(value))).toEqual([null, undefined]));
