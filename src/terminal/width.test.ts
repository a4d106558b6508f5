import { expect, test } from 'vitest';
import { fitTo, padTo, widthOf } from './width.ts';

const widths = [
  ['web', 3],
  ['', 0],
  ['größe', 5],
  ['日本', 4],
  ['😀', 2],
  ['e\u0301', 1],
  ['…', 1],
] as const;
for (const [text, width] of widths) test(`widthOf ${text}`, () => expect(widthOf(text)).toBe(width));

test('padTo pads by columns', () =>
  expect(['web', '日本', 'longer'].map((each) => padTo(each, 5))).toEqual(['web  ', '日本 ', 'longer']));

const fits = [
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['日本語', 4, '日…'],
  ['abcd', 1, '…'],
  ['abcd', 0, ''],
  ['abcd', -5, ''],
] as const;
for (const [text, width, fitted] of fits)
  test(`fitTo ${text} in ${width}`, () => expect(fitTo(text, width)).toBe(fitted));
