import { describe, expect, test } from 'vitest';
import { parseSafeJson, safeJson, safeText } from './safe-text.ts';

describe('safeText', () => {
  const cases: readonly (readonly [name: string, text: string, safe: string])[] = [
    ['plain text', 'web-1 läuft, 日本 ✓ 😀', 'web-1 läuft, 日本 ✓ 😀'],
    ['a title sequence', '\u001b]0;owned\u0007', '\\x1b]0;owned\\x07'],
    ['cursor movement and colours', '\u001b[2J\u001b[1;1H\u001b[31m', '\\x1b[2J\\x1b[1;1H\\x1b[31m'],
    ['the one-byte control sequence introducer', '\u009b31m', '\\x9b31m'],
    ['a device control string', '\u0090q\u009c', '\\x90q\\x9c'],
    ['line breaks and tabs', 'a\nb\r\nc\td', 'a\\nb\\r\\nc\\td'],
    ['backspaces and deletes', 'good\b\b\b\bevil\u007f', 'good\\x08\\x08\\x08\\x08evil\\x7f'],
    ['bidi overrides', 'a\u202eb\u2066c\u2069', 'a\\u202eb\\u2066c\\u2069'],
    ['bidi marks', '\u200e\u200f\u061c', '\\u200e\\u200f\\u061c'],
    ['zero width characters', 'a\u200bb\ufeffc\u200dd', 'a\\u200bb\\ufeffc\\u200dd'],
    ['line and paragraph separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['tag characters', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800b', 'a\\ud800b'],
    ['private use', '\ue000', '\\ue000'],
    ['NUL', 'a\u0000b', 'a\\x00b'],
  ];
  for (const [name, text, safe] of cases) test(name, () => expect(safeText(text)).toBe(safe));
});

test('parseSafeJson makes every text safe', () => {
  const value = { a: ['\u001b[31m', 1, null], b: { c: 'x\ty' } };
  expect(parseSafeJson(JSON.stringify(value))).toEqual({ a: ['\\x1b[31m', 1, null], b: { c: 'x    y' } });
});

test('safeJson escapes what is unsafe, so that a parser reads the same value', () => {
  const value = { a: ['\u001b[31m', '\u202e', '\u009b', '\u{e0041}', 'ä'] };
  const text = safeJson(value);
  expect(text).toMatch(/^[\x20-\x7eä\n]*$/);
  expect(JSON.parse(text)).toEqual(value);
});
