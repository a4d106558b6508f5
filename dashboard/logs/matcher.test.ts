import { expect, test } from 'vitest';
import { compile, match } from './matcher.ts';

const cases: readonly (readonly [pattern: string, text: string, want: readonly number[] | undefined])[] = [
  ['error', 'Error: an error', [0, 5, 10, 15]],
  ['Error', 'Error: an error', [0, 5]],
  ['\\S+\\D', 'ab', [0, 2]],
  ['x*', 'ab', [0, 0, 1, 1, 2, 2]],
  ['^$', '', [0, 0]],
  ['z', 'ab', undefined],
  ['ü.', 'Ü😀', [0, 3]],
];
for (const [pattern, text, want] of cases) {
  test(`/${pattern}/ in ${JSON.stringify(text)}`, () => {
    const compiled = compile(pattern);
    if ('problem' in compiled) throw new Error(compiled.problem);
    expect(match(compiled.expression, text)).toEqual(want);
  });
}

for (const pattern of ['(', '[', '*', '\\', '(?<=', 'a{2,1}']) {
  test(`${pattern} is reported as not valid`, () => {
    expect(compile(pattern)).toEqual({ problem: expect.stringContaining('Invalid regular expression') });
  });
}

test('a line has a bounded number of matches', () => {
  const compiled = compile('.');
  if ('problem' in compiled) throw new Error(compiled.problem);
  expect(match(compiled.expression, 'x'.repeat(16_384))).toHaveLength(100);
});
