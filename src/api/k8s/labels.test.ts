import { describe, expect, test } from 'vitest';
import {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  labelRequirement,
  matchesLabels,
  requirementsOfLabels,
  requirementsOfNodeSelector,
  requirementsOfSelector,
  selectorMatches,
} from './labels.ts';
import type { LabelSelector } from './types.ts';

const long = 'a'.repeat(254);
const req = (key: string, operator: LabelOperator, ...values: string[]): LabelRequirement =>
  labelRequirement(key, operator, values);

describe('labelRequirement', () => {
  const right: ReadonlyArray<readonly [string, LabelOperator, string[]]> = [
    ['x', 'in', ['foo']],
    ['x', 'notin', ['foo', 'bar']],
    ['x', 'exists', []],
    ['x', '!', []],
    ['x', '>', ['1']],
    ['x', '<', ['9223372036854775807']],
    ['a.b/c', '=', ['']],
    ['x', '!=', ['a']],
  ];
  test.each(right)('accepts %s %s %j', (key, operator, values) => {
    expect(labelRequirement(key, operator, values)).toEqual({ key, operator, values });
  });

  const wrong: ReadonlyArray<readonly [string, LabelOperator, string[], RegExp]> = [
    ['x', 'in', [], /operator in needs at least one value/],
    ['x', 'notin', [], /operator notin needs at least one value/],
    ['x', '=', ['foo', 'bar'], /operator = needs exactly one value/],
    ['x', '!=', [], /exactly one value/],
    ['x', 'exists', ['foo'], /takes no values/],
    ['x', '!', ['foo'], /takes no values/],
    ['x', '>', [], /exactly one value/],
    ['x', '>', ['bar'], /must be an integer/],
    ['x', '<', ['1.5'], /must be an integer/],
    ['x', '<', ['9223372036854775808'], /must be an integer/],
    [long, 'exists', [], /key "a+": name must be no longer than 63/],
    ['x', '=', [long], /value "a+": must be no longer than 63/],
    ['x', '=', ['a b'], /value "a b": must be/],
    ['', 'exists', [], /name must not be empty/],
  ];
  test.each(wrong)('rejects %s %s %j', (key, operator, values, message) => {
    expect(() => labelRequirement(key, operator, values)).toThrow(message);
  });
});

describe('matchesLabels', () => {
  const cases: ReadonlyArray<readonly [string, LabelRequirement[], Labels | undefined, boolean]> = [
    ['no requirements', [], { x: 'y' }, true],
    ['no labels', [], undefined, true],
    ['equal', [req('x', '=', 'y')], { x: 'y' }, true],
    ['doubly equal', [req('x', '==', 'y')], { x: 'y' }, true],
    ['another value', [req('x', '=', 'y')], { x: 'z' }, false],
    ['an empty value is not an absent one', [req('x', '=', '')], {}, false],
    ['not equal', [req('x', '!=', 'y')], { x: 'z' }, true],
    ['absent is not equal', [req('x', '!=', 'y')], {}, true],
    ['one of several', [req('x', 'in', 'foo', 'bar')], { x: 'bar' }, true],
    ['an absent label is in no set', [req('x', 'in', '')], { y: 'baz' }, false],
    ['an absent label satisfies notin', [req('x', 'notin', '')], { y: '' }, true],
    ['a value in the excluded set', [req('x', 'notin', 'a')], { x: 'a' }, false],
    ['there', [req('x', 'exists')], { x: '' }, true],
    ['an absent label does not exist', [req('x', 'exists')], { y: '' }, false],
    ['a present label violates !', [req('x', '!')], { x: '' }, false],
    ['an absent label satisfies !', [req('x', '!')], {}, true],
    ['more', [req('z', '>', '1')], { z: '2' }, true],
    ['an equal number is not greater', [req('z', '>', '2')], { z: '2' }, false],
    ['less', [req('z', '<', '1')], { z: '-1' }, true],
    ['not a number', [req('z', '>', '1')], { z: 'v2' }, false],
    ['an absent label is not less', [req('z', '<', '1')], {}, false],
    [
      'integers beyond the precision of a double',
      [req('z', '>', '9007199254740992')],
      { z: '9007199254740993' },
      true,
    ],
    [
      'one of two requirements fails',
      [req('x', 'in', 'foo'), req('y', 'in', 'alpha')],
      { x: 'foo', y: 'baz' },
      false,
    ],
    [
      'both requirements hold',
      [req('x', 'in', 'foo'), req('y', 'notin', 'alpha')],
      { x: 'foo', y: 'baz' },
      true,
    ],
    ['a name on the object prototype', [req('constructor', 'exists')], {}, false],
  ];
  test.each(cases)('%s', (_name, requirements, labels, want) => {
    expect(matchesLabels(requirements, labels)).toBe(want);
  });
});

describe('API selectors', () => {
  const cases: ReadonlyArray<readonly [string, LabelSelector | undefined, Labels, boolean]> = [
    ['an absent selector selects nothing', undefined, {}, false],
    ['an empty selector selects everything', {}, { a: 'b' }, true],
    ['labels and expressions both hold', both(['v']), { a: 'b', k: 'v' }, true],
    ['an expression does not hold', both(['w']), { a: 'b', k: 'v' }, false],
    ['NotIn', expression('NotIn', ['v']), {}, true],
    ['Exists', expression('Exists'), { k: '' }, true],
    ['DoesNotExist', expression('DoesNotExist'), { k: '' }, false],
  ];
  function both(values: string[]): LabelSelector {
    return { matchLabels: { a: 'b' }, ...expression('In', values) };
  }
  function expression(operator: string, values?: string[]): LabelSelector {
    return { matchExpressions: [{ key: 'k', operator, ...(values && { values }) }] };
  }
  test.each(cases)('%s', (_name, selector, labels, want) => {
    expect(selectorMatches(selector, labels)).toBe(want);
  });

  test('are sorted by key', () => {
    const selector = {
      matchLabels: { c: '1', a: '2' },
      matchExpressions: [{ key: 'b', operator: 'Exists' }],
    };
    expect(requirementsOfSelector(selector)?.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    expect(requirementsOfLabels({ z: '1', app: 'x' }).map(({ key }) => key)).toEqual(['app', 'z']);
  });

  test('only node selectors have Gt and Lt', () => {
    const more = { key: 'cpus', operator: 'Gt', values: ['4'] };
    const fewer = { key: 'cpus', operator: 'Lt', values: ['9'] };
    const requirements = requirementsOfNodeSelector([more, fewer]);
    expect(
      [{ cpus: '8' }, { cpus: '4' }, { cpus: '9' }].map((labels) => matchesLabels(requirements, labels)),
    ).toEqual([true, false, false]);
    expect(() => requirementsOfSelector({ matchExpressions: [more] })).toThrow(/unknown operator "Gt"/);
  });

  test.each(['', 'in', 'toString'])('rejects the operator %j', (operator) => {
    expect(() => selectorMatches(expression(operator), {})).toThrow(/unknown operator/);
  });
});
