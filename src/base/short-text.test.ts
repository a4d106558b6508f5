import { expect, test } from 'vitest';
import { shortText } from './short-text.ts';

const bytesOf = (text: string): number => Buffer.byteLength(text);

test.each([
  ['nothing', '', ''],
  ['text that fits exactly', 'abcdefghij', 'abcdefghij'],
  ['text that is too long', 'abcdefghijk', 'abcdefg…'],
  ['characters of two bytes', 'ääääää', 'äää…'],
  ['characters outside the basic plane', '😀😀😀', '😀…'],
  ['half a character', '\ud83dabc', '\ufffdabc'],
])('truncates %s', (_, text, want) => {
  expect(shortText(text, 10)).toBe(want);
  expect(bytesOf(shortText(text, 10))).toBeLessThanOrEqual(10);
});

test('takes no longer for a text of any length', () => {
  const hostile = '\u{10ffff}'.repeat(5_000_000);
  const began = performance.now();
  for (let count = 0; count < 1_000; count++) shortText(hostile, 200);
  expect(performance.now() - began).toBeLessThan(500);
});
