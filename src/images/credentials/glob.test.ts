import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { globMatches } from './glob.ts';

test.each([
  ['*', 'anything', true],
  ['*', '', true],
  ['a*c', 'abc', true],
  ['a*c', 'abd', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['[a-c]x', 'bx', true],
  ['[a-c]x', 'dx', false],
  ['[^a-c]x', 'dx', true],
  ['[^a]', 'a', false],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['a.c', 'abc', false],
  ['(a|b)', '(a|b)', true],
  ['a+', 'aa', false],
  ['[', '[', false],
  ['[]a]', 'a', false],
  ['[-a]', 'a', false],
  ['[c-a]', 'b', false],
  ['a\\', 'a', false],
])('pattern %s on %s: %s', (pattern, text, want) => expect(globMatches(pattern, text)).toBe(want));

// Cases of Go's own table in which implementations could differ.
test.each([
  ['*c', 'abc', true],
  ['a*', 'ab/c', false],
  ['a*/b', 'abc/b', true],
  ['a*/b', 'a/c/b', false],
  ['a*b*c*d*e*/f', 'axbxcxdxexxx/f', true],
  ['a*b*c*d*e*/f', 'axbxcxdxe/xxx/f', false],
  ['a*b?c*x', 'abxbbxdbxebxczzx', true],
  ['a*b?c*x', 'abxbbxdbxebxczzy', false],
  ['a?b', 'a☺b', true],
  ['a???b', 'a☺b', false],
  ['[a-ζ]*', 'α', true],
  ['*[a-ζ]', 'A', false],
  ['a?b', 'a/b', false],
  ['a[^b]b', 'a/b', true],
  ['[\\]a]', ']', true],
  ['[x\\-]', '-', true],
  ['[*]', '*', true],
  ['[a]*]', 'a-]', true],
  [']', ']', true],
  ['[^c-a]', 'b', true],
  ['[]a]', ']', false],
  ['[x-]', 'x', false],
  ['[a-b-c]', 'a', false],
  ['[^bc', 'a', false],
  ['[a\\', 'a', false],
  ['a*[', 'ab', false],
  ['*x', 'xxx', true],
  ['', '', true],
  ['', 'a', false],
])('as in Go: pattern %s on %s: %s', (pattern, text, want) => expect(globMatches(pattern, text)).toBe(want));

/** A slow reference implementation by backtracking: stars, any and letters only. */
function slowMatch(pattern: string, text: string): boolean {
  const [first, ...rest] = pattern;
  const [head, ...tail] = text;
  if (first === undefined) return head === undefined;
  if (first === '*') {
    const skips = head !== undefined && head !== '/' && slowMatch(pattern, tail.join(''));
    return skips || slowMatch(rest.join(''), text);
  }
  if (head === undefined || (first === '?' ? head === '/' : first !== head)) return false;
  return slowMatch(rest.join(''), tail.join(''));
}

test('agrees with the reference implementation', () => {
  const pattern = fc.string({ unit: fc.constantFrom('*', '?', 'a', 'b', '/'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 10 });
  fc.assert(
    fc.property(pattern, text, (glob, given) => {
      expect(globMatches(glob, given)).toBe(slowMatch(glob, given));
    }),
    { seed: 18, numRuns: 5_000 },
  );
});

test('accepts any pattern and any text', () => {
  const any = fc.string({
    unit: fc.oneof(
      fc.constantFrom('*', '?', '[', ']', '^', '-', '\\', '/', 'a'),
      fc.string({ maxLength: 1 }),
    ),
    maxLength: 30,
  });
  fc.assert(
    fc.property(any, any, (pattern, text) => {
      expect(globMatches(pattern, text)).toBeTypeOf('boolean');
    }),
    { seed: 18, numRuns: 2_000 },
  );
});
