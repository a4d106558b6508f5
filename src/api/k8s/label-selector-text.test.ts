import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatLabelSelector, parseLabelSelector } from './label-selector-text.ts';
import { type LabelOperator, type LabelRequirement, labelRequirement, matchesLabels } from './labels.ts';

const req = (key: string, operator: LabelOperator, ...values: string[]): LabelRequirement =>
  labelRequirement(key, operator, values);

describe('parseLabelSelector', () => {
  const cases: ReadonlyArray<readonly [string, LabelRequirement[]]> = [
    ['', []],
    [' \t', []],
    ['\rx', [req('x', 'exists')]],
    ['a ', [req('a', 'exists')]],
    ['!x', [req('x', '!')]],
    ['! x', [req('x', '!')]],
    ['dns.domain.com/key-with-dash', [req('dns.domain.com/key-with-dash', 'exists')]],
    ['dns.com/key in (so,what)', [req('dns.com/key', 'in', 'so', 'what')]],
    [
      '0.1.2.domain/99 notin (10.10.100.1, tick.tack)',
      [req('0.1.2.domain/99', 'notin', '10.10.100.1', 'tick.tack')],
    ],
    ['foo  in\t (abc)', [req('foo', 'in', 'abc')]],
    ['x notin\n (abc)', [req('x', 'notin', 'abc')]],
    ['x in (def,abc)', [req('x', 'in', 'abc', 'def')]],
    ['x in (a,a)', [req('x', 'in', 'a')]],
    ['x in (abc,)', [req('x', 'in', '', 'abc')]],
    ['x in ()', [req('x', 'in', '')]],
    ['x notin ( )', [req('x', 'notin', '')]],
    ['x notin (, a)', [req('x', 'notin', '', 'a')]],
    ['x in (a,,,b)', [req('x', 'in', '', 'a', 'b')]],
    ['a in (x,y,notin, z,in)', [req('a', 'in', 'in', 'notin', 'x', 'y', 'z')]],
    ['notin=in', [req('notin', '=', 'in')]],
    ['in in (in)', [req('in', 'in', 'in')]],
    ['x=', [req('x', '=', '')]],
    ['x= ', [req('x', '=', '')]],
    ['x=,z= ', [req('x', '=', ''), req('z', '=', '')]],
    ['x==a', [req('x', '==', 'a')]],
    ['x != a', [req('x', '!=', 'a')]],
    ['x>1,z<5', [req('x', '>', '1'), req('z', '<', '5')]],
    ['z,y in (a),x=b', [req('x', '=', 'b'), req('y', 'in', 'a'), req('z', 'exists')]],
    [
      'x notin (abc,,def),bar,z in (),w',
      [req('bar', 'exists'), req('w', 'exists'), req('x', 'notin', '', 'abc', 'def'), req('z', 'in', '')],
    ],
  ];
  test.each(cases)('%j', (text, want) => {
    expect(parseLabelSelector(text)).toEqual(want);
  });

  const syntax = [
    'x,,y',
    ',x,y',
    'x,',
    'a in (xyz),',
    'a in (xyz)b notin ()',
    'x nott in (y)',
    'x==a==b',
    '!x=a',
  ];
  const unfinished = [
    '!',
    '!!x',
    'x !',
    'a in',
    'a in xyz',
    'a in (xyz abc)',
    'a notin(',
    'a in (a',
    'a in (a,',
  ];
  const more = ['a (', '(', ')', '=a', 'x=a||y=b', 'x=a b', 'x=(a)', 'x = = a', 'x exists'];
  const values = ['x<a', 'x>', 'x>1.5', '-x', 'x=-a', 'a/b/c'];
  test.each([...syntax, ...unfinished, ...more, ...values])('rejects %j', (text) => {
    expect(() => parseLabelSelector(text)).toThrow(/^selector is not valid: /);
  });

  test('reports the unexpected token and what was expected', () => {
    expect(() => parseLabelSelector('x,')).toThrow('found the end where a key should be');
    expect(() => parseLabelSelector('x ~ y')).toThrow(
      'found "~" where one of = == != in notin > < should be',
    );
  });

  test('matches', () => {
    const labels = { foo: 'bar', baz: 'blah', n: '2' };
    const right = ['', 'foo=bar', 'foo=bar,baz=blah', 'foo!=x', 'n>1', 'n<3', 'foo,!nope', 'baz in (a,blah)'];
    const wrong = ['foo=blah', 'foo=bar,foobar=bar', '!foo', 'n>2', 'nope', 'baz notin (blah)'];
    const select = (text: string): boolean => matchesLabels(parseLabelSelector(text), labels);
    expect(right.filter((text) => !select(text))).toEqual([]);
    expect(wrong.filter(select)).toEqual([]);
  });
});

describe('formatLabelSelector', () => {
  const cases: ReadonlyArray<readonly [LabelRequirement[], string]> = [
    [[], ''],
    [
      [req('x', 'in', 'def', 'abc'), req('y', 'notin', 'jkl'), req('z', 'exists')],
      'x in (abc,def),y notin (jkl),z',
    ],
    [[req('x', 'notin', 'abc'), req('y', '!=', 'jkl'), req('z', '!')], 'x notin (abc),y!=jkl,!z'],
    [[req('z', 'notin', '')], 'z notin ()'],
    [
      [req('x', '=', 'abc'), req('y', '==', 'jkl'), req('z', '!=', 'a'), req('z', 'exists')],
      'x=abc,y==jkl,z!=a,z',
    ],
    [[req('x', '>', '2'), req('y', '<', '8')], 'x>2,y<8'],
  ];
  test.each(cases)('formats %j as %s', (requirements, want) => {
    expect(formatLabelSelector(requirements)).toBe(want);
  });

  test('parses its own output', () => {
    const word = fc.stringMatching(/^[a-z0-9]([a-z0-9_.-]{0,5}[a-z0-9])?$/);
    const number = fc.integer({ min: 0, max: 1000 }).map(String);
    const any = fc.oneof(
      fc.tuple(word, fc.constantFrom<LabelOperator>('exists', '!')).map(([key, op]) => req(key, op)),
      fc
        .tuple(word, fc.constantFrom<LabelOperator>('=', '==', '!='), fc.oneof(word, fc.constant('')))
        .map(([key, op, value]) => req(key, op, value)),
      fc
        .tuple(word, fc.constantFrom<LabelOperator>('>', '<'), number)
        .map(([key, op, value]) => req(key, op, value)),
      fc
        .tuple(
          word,
          fc.constantFrom<LabelOperator>('in', 'notin'),
          fc.uniqueArray(fc.oneof(word, fc.constant('')), { minLength: 1 }),
        )
        .map(([key, op, values]) => req(key, op, ...values.sort())),
    );
    const selectors = fc.uniqueArray(any, { selector: ({ key }) => key });
    fc.assert(
      fc.property(selectors, (requirements) => {
        const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : 1));
        expect(parseLabelSelector(formatLabelSelector(requirements))).toEqual(sorted);
      }),
    );
  });
});
