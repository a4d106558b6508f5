import { describe, expect, test } from 'vitest';
import { truncateMiddle, visible, visibleLines } from './visible.ts';

describe('visible', () => {
  test.each([
    ['web-1', 'web-1'],
    ['a\u001b[31mred', 'a\\u001b[31mred'],
    ['a\nb\tc\u0000', 'a\\u000ab\\u0009c\\u0000'],
    ['\u007f', '\\u007f'],
    ['gpj.\u202egnp', 'gpj.\\u202egnp'],
    ['\u2066x\u2069', '\\u2066x\\u2069'],
    ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
    ['c1\u009b', 'c1\\u009b'],
    ['größe 模块 😀', 'größe 模块 😀'],
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ])('shows %j as %j', (text, want) => {
    expect(visible(text)).toBe(want);
  });

  test('keeps line breaks and tabs in text of several lines', () => {
    expect(visibleLines('a\n\tb\u001b')).toBe('a\n\tb\\u001b');
  });
});

describe('truncateMiddle', () => {
  test('keeps a short text', () => {
    expect(truncateMiddle('web', 3)).toBe('web');
  });
  test('keeps the beginning and the end of a long text', () => {
    expect(truncateMiddle('web-7d4b9c-x2x9p', 9)).toBe('web-…2x9p');
  });
  test('does not split a surrogate pair', () => {
    expect(truncateMiddle('😀😀😀😀😀', 3)).toBe('😀…😀');
  });
});
