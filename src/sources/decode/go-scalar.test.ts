import { describe, expect, test } from 'vitest';
import { narrow, resolvePlain, resolveTagged } from './go-scalar.ts';

describe('resolvePlain', () => {
  const words: readonly (readonly [string, readonly unknown[]])[] = [
    ['true', ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']],
    ['false', ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']],
    ['null', ['', '~', 'null', 'Null', 'NULL']],
  ];
  const meaning: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };
  for (const [name, spellings] of words)
    for (const spelling of spellings as readonly string[])
      test(`${JSON.stringify(spelling)}: ${name}`, () => expect(resolvePlain(spelling)).toBe(meaning[name]));

  const numbers: readonly (readonly [string, unknown])[] = [
    ['0', 0],
    ['007', 7],
    ['0644', 420],
    ['08', 8],
    ['0o17', 15],
    ['0x1F', 31],
    ['0b11', 3],
    ['-0x1f', -31],
    ['-010', -8],
    ['+5', 5],
    ['1_000', 1000],
    ['1.5', 1.5],
    ['5.', 5],
    ['.5', 0.5],
    ['-.5', -0.5],
    ['1e3', 1000],
    ['1.5e-2', 0.015],
    ['09.5', 9.5],
    ['9223372036854775807', 9223372036854775807n],
    ['.inf', Number.POSITIVE_INFINITY],
    ['-.Inf', Number.NEGATIVE_INFINITY],
    ['.NaN', Number.NaN],
  ];
  for (const [text, want] of numbers)
    test(`${text}: a number`, () => expect(resolvePlain(text)).toEqual(want));

  const texts = [
    'yEs',
    'tRue',
    'nULL',
    '190:20:30',
    '1:30',
    '2001-01-01',
    '2001-1-1 10:11:12',
    '1.2.3',
    '100m',
    '1Gi',
    '_1',
    '-',
    '--',
    '.',
    '..',
    '0x',
    '0b2',
    '1e',
    'e3',
    '1.7976931348623157e400',
    '._5',
    '=',
    '<<',
    'é',
  ];
  for (const text of texts) test(`${text}: text`, () => expect(resolvePlain(text)).toBe(text));
});

describe('resolveTagged', () => {
  const long = (name: string): string => `tag:yaml.org,2002:${name}`;
  const good: readonly (readonly [string, string, unknown])[] = [
    ['int', '5', 5],
    ['int', '0x1f', 31],
    ['float', '5', 5],
    ['float', '1.5', 1.5],
    ['bool', 'yes', true],
    ['null', '~', null],
    ['str', '5', '5'],
    ['timestamp', '2001-01-01', '2001-01-01'],
    ['binary', 'aGk=', 'hi'],
    ['binary', 'aG\nk=', 'hi'],
  ];
  for (const [tag, text, want] of good)
    test(`!!${tag} converts ${JSON.stringify(text)}`, () =>
      expect(resolveTagged(text, long(tag))).toBe(want));

  const bad = [
    ['int', '5.0'],
    ['int', 'x'],
    ['float', 'x'],
    ['bool', '1'],
    ['null', 'x'],
    ['binary', '?'],
  ] as const;
  for (const [tag, text] of bad)
    test(`!!${tag} rejects ${text}`, () => expect(() => resolveTagged(text, long(tag))).toThrow(TypeError));

  test('of an application keeps the string', () => expect(resolveTagged('5', '!mine')).toBe('5'));
});

test('narrows a bigint only without loss', () => {
  expect(narrow(5n)).toBe(5);
  expect(narrow(2n ** 53n)).toBe(2n ** 53n);
});
