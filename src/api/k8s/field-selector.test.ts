import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  escapeFieldValue,
  type FieldRequirement,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
} from './field-selector.ts';

const is = (field: string, value: string): FieldRequirement => ({ field, operator: '=', value });
const not = (field: string, value: string): FieldRequirement => ({ field, operator: '!=', value });

describe('parseFieldSelector', () => {
  const cases: ReadonlyArray<readonly [string, FieldRequirement[], string?]> = [
    ['', []],
    ['x=a,y=b,z=c', [is('x', 'a'), is('y', 'b'), is('z', 'c')]],
    ['x=a,a=x', [is('a', 'x'), is('x', 'a')], 'a=x,x=a'],
    ['x!=a,y=b', [not('x', 'a'), is('y', 'b')]],
    ['x==a', [is('x', 'a')], 'x=a'],
    ['x=', [is('x', '')]],
    ['=a', [is('', 'a')]],
    ['a!b=c', [is('a!b', 'c')]],
    ['a=a,', [is('a', 'a')], 'a=a'],
    [',a=a', [is('a', 'a')], 'a=a'],
    ['x=a||y\\=b', [is('x', 'a||y=b')]],
    ['x=a\\=\\=b', [is('x', 'a==b')]],
    ['k=\\,,l=v', [is('k', ','), is('l', 'v')]],
    ['k=\\\\,l=v', [is('k', '\\'), is('l', 'v')]],
    ['k=\\\\\\,,l=v', [is('k', '\\,'), is('l', 'v')]],
    ['함=수,목=록', [is('목', '록'), is('함', '수')], '목=록,함=수'],
    ['a=😀\\,b', [is('a', '😀,b')]],
    ['a=x\ny', [is('a', 'x\ny')]],
  ];
  for (const [text, want, written] of cases) {
    test(JSON.stringify(text), () => {
      expect(parseFieldSelector(text)).toEqual(want);
      expect(formatFieldSelector(want)).toBe(written ?? text);
    });
  }

  const wrong = [
    'x',
    'x=a,b',
    'x in (a)',
    'x in (a,b,c)',
    'x=a||y=b',
    'x==a==b',
    'k=\\a\\b\\',
    'k=\\',
    'k=\\😀',
  ];
  test.each(wrong)('rejects %j', (text) => {
    expect(() => parseFieldSelector(text)).toThrow(/^field selector is not valid: /);
  });
});

describe('matchesFields', () => {
  const fields = { foo: 'bar', baz: 'blah', complex: '=value\\,\\' };
  const right = ['', 'foo=bar', 'foo=bar,baz=blah', 'foo!=x', 'absent=', 'absent!=x', 'toString='];
  const escaped = 'foo=bar,complex=\\=value\\\\\\,\\\\';
  test.each([...right, escaped])('%j matches', (text) => {
    expect(matchesFields(parseFieldSelector(text), fields)).toBe(true);
  });
  test.each(['foo=blah', 'baz=bar', 'foo=bar,foobar=bar', 'foo!=bar', 'absent!='])(
    '%j does not match',
    (text) => {
      expect(matchesFields(parseFieldSelector(text), fields)).toBe(false);
    },
  );
});

test('parses its own output', () => {
  const value = fc.string({ unit: fc.constantFrom('a', '\\', ',', '=', '!', ' ', '한') });
  const requirement = fc.record({
    field: fc.stringMatching(/^[a-z.]{1,6}$/),
    operator: fc.constantFrom('=' as const, '!=' as const),
    value,
  });
  fc.assert(
    fc.property(fc.array(requirement), (requirements) => {
      const sorted = [...requirements].sort((a, b) =>
        formatFieldSelector([a]) < formatFieldSelector([b]) ? -1 : 1,
      );
      expect(parseFieldSelector(formatFieldSelector(requirements))).toEqual(sorted);
    }),
  );
});

test('escapes values', () => {
  expect(['', 'a', '=', ',', '\\', '\\=\\,\\'].map(escapeFieldValue)).toEqual([
    '',
    'a',
    '\\=',
    '\\,',
    '\\\\',
    '\\\\\\=\\\\\\,\\\\',
  ]);
});
