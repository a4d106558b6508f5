import { describe, expect, test } from 'vitest';
import {
  isAnnotationKey,
  isCIdentifier,
  isConfigMapKey,
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isEnvVarName,
  isHttpHeaderName,
  isLabelValue,
  isPortName,
  isPortNumber,
  isQualifiedName,
  isRelaxedEnvVarName,
  isUserOrGroupId,
} from './names.ts';

const a = (count: number): string => 'a'.repeat(count);
const letters = ['a', 'ab', 'abc', 'a1', 'a-1', 'a--1--2--b'];
const digitsFirst = ['0', '01', '012', '1a', '1-a', '1--a--b--2'];
const dotted = ['a.a', 'a-1.1', '0.a', '1--a--b--2.1', 'a.b.c.d.e', '11.22.33.44.55'];
const upper = ['A', 'ABC', 'aBc', 'A1', 'A-1', '1-A'];
const badEnds = ['', '-', 'a-', '-a', '1-', '-1', '.', 'a.', '.a', '1.', '.1', 'a\n', '\na'];
const underscores = ['_', 'a_', '_a', 'a_b', '1_2'];
const blanks = [' ', 'a ', ' a', 'a b', '1 2'];
const dottedBad = ['a..b', '1..2', 'A.a', 'ab.A', 'a.B.c', 'a.-b', 'a-.b'];
const symbols = ['a@b', 'a,b', 'a;b', 'a:b', 'a%b', 'a?b', 'a$b', 'é'];
const identifiers = ['a', 'A1', '_a', 'a_', 'A__1__2__B', '__123_ABC'];

type Check = (value: string) => string[];
const tables: ReadonlyArray<readonly [string, Check, readonly string[], readonly string[]]> = [
  [
    'DNS-1123 label',
    isDns1123Label,
    [...letters, ...digitsFirst, a(63)],
    [...upper, ...badEnds, ...underscores, ...dotted, ...blanks, ...symbols, a(64)],
  ],
  [
    'DNS-1123 subdomain',
    isDns1123Subdomain,
    [...letters, ...digitsFirst, ...dotted, a(253)],
    [...upper, ...badEnds, ...underscores, ...blanks, ...dottedBad, ...symbols, a(254)],
  ],
  [
    'DNS-1035 label',
    isDns1035Label,
    [...letters, a(63)],
    [...digitsFirst, ...upper, ...badEnds, ...underscores, ...dotted, ...blanks, a(64)],
  ],
  [
    'qualified name',
    isQualifiedName,
    [
      'simple',
      'now-with-dashes',
      '1-starts',
      '1234',
      'simple/simple',
      'with-dashes/with-dashes',
      'now.with.dots/simple',
      '1-num.2-num/3-num',
      '1.2.3.4/5678',
      'Upper_123',
      'example.com/Upper_1',
      'requests.storage-foo',
      a(63),
      `${a(253)}/${a(63)}`,
    ],
    [
      'special%^=@',
      'ends-',
      '-starts',
      'a/b/c',
      'Example.com/abc',
      'example_com/abc',
      'example.com/',
      '',
      '/',
      '/simple',
      a(64),
      `${a(254)}/abc`,
    ],
  ],
  [
    'annotation key',
    isAnnotationKey,
    ['Example.COM/Abc', 'simple', 'a.b/c'],
    ['example_com/abc', 'a/b/c', '', '-a'],
  ],
  [
    'label value',
    isLabelValue,
    ['', 'simple', 'with-dashes', '1-a', 'a-1', '1234', 'A_b.C', a(63)],
    ['special%^=@', 'Tama-nui-te-rā', '\\back', '-a', 'a-', '.a', 'a.', 'a b', a(64)],
  ],
  [
    'C identifier',
    isCIdentifier,
    identifiers,
    ['', '1', '123', '1a', '-', 'a-', '-a', '1_', 'a.b', ' ', 'a b', '#a#'],
  ],
  [
    'environment variable',
    isEnvVarName,
    [...identifiers, 'a.b', 'a-b', '-a', '.a', '_.-'],
    ['', '1a', '.', '..', '..a', 'a b', 'a=b', 'a!', 'é'],
  ],
  [
    'relaxed environment variable',
    isRelaxedEnvVarName,
    ['-', ':', '+a', '>a', '<a', 'a..', '%a', '?a', '~a', '|a', '/a', 'a ', '#a', '0 a', "'a", '@a', '..'],
    ['', '=', 'a=', '1=a', '#%=&&', '\u0001abc', '\u007f', '\u0082abc', 'Ç ç', 'a\n'],
  ],
  [
    'config map key',
    isConfigMapKey,
    ['a', 'good-good', 'still.good', '.so.is.this', 'THIS_IS_GOOD', 'so_is_this_17', 'a..b', a(253)],
    ['', '.', '..', '..bad', 'b*d', 'bad!&bad', 'a/b', a(254)],
  ],
  [
    'HTTP header',
    isHttpHeaderName,
    ['Accept-Encoding', 'Host', 'a', '-a', 'a-', 'A--1--2--B', '--123-ABC'],
    ['Host:', 'X-@Home', '', '_', 'a_', '.', 'a.b', ' ', 'a b', '#a#', '^', '=', '{'],
  ],
  [
    'port name',
    isPortName,
    ['telnet', 're-mail-ck', 'pop3', 'a', 'a-1', '1-a', '1-a-2-b-3', a(15)],
    ['', a(16), '12345', '1-2-3-4', '-begin', 'end-', 'two--hyphens', 'whois++', 'UPPER'],
  ],
];

for (const [name, check, good, bad] of tables) {
  describe(name, () => {
    test.each(good)('accepts %j', (value) => {
      expect(check(value)).toEqual([]);
    });
    test.each(bad)('rejects %j', (value) => {
      expect(check(value)).not.toEqual([]);
    });
  });
}

describe('numbers', () => {
  test.each([1, 2, 1000, 65535])('accepts the port %d', (value) => {
    expect(isPortNumber(value)).toEqual([]);
  });
  test.each([0, -1, 65536, 1.5, Number.NaN])('rejects the port %d', (value) => {
    expect(isPortNumber(value)).toHaveLength(1);
  });
  test.each([0, 1, 65535, 2147483647])('accepts the user ID %d', (value) => {
    expect(isUserOrGroupId(value)).toEqual([]);
  });
  test.each([-1, 2147483648, 0.5])('rejects the user ID %d', (value) => {
    expect(isUserOrGroupId(value)).toHaveLength(1);
  });
});

describe('error messages', () => {
  const cases: ReadonlyArray<readonly [string, string[], string[]]> = [
    ['dots in a label', isDns1123Label('a.b'), ["must not have a '.'"]],
    ['too long', isDns1123Subdomain(a(254)), ['must be no longer than 253 characters']],
    ['a port name without letters', isPortName('1'), ['must have at least one letter']],
    ['a range', isPortNumber(0), ['must be between 1 and 65535']],
    ['an empty prefix', isQualifiedName('/a'), ['prefix must not be empty']],
    ['upwards', isConfigMapKey('..'), ["must not be '..'"]],
  ];
  test.each(cases)('%s', (_name, got, want) => {
    expect(got).toEqual(want);
  });
  test('contain the pattern', () => {
    expect(isDns1123Label('A')[0]).toContain('[a-z0-9]([-a-z0-9]*[a-z0-9])?');
  });
});
