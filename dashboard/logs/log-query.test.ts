import { expect, test } from 'vitest';
import { chosenContainers, withQuery } from './log-query.ts';

const containers = [
  { name: 'setup', role: 'init', tone: 'done' },
  { name: 'web', role: 'regular', tone: 'good' },
  { name: 'proxy', role: 'sidecar', tone: 'good' },
] as const;

const cases: readonly (readonly [query: string, want: readonly string[]])[] = [
  ['', ['web', 'proxy']],
  ['c=setup', ['setup']],
  ['c=proxy,web', ['web', 'proxy']],
  ['c=gone', ['web', 'proxy']],
];
for (const [query, want] of cases) {
  test(`chosenContainers: "${query}"`, () => {
    expect(chosenContainers(containers, new URLSearchParams(query))).toEqual(want);
  });
}

test('chosenContainers: init containers that are done, if there are no others', () => {
  expect(chosenContainers(containers.slice(0, 1), new URLSearchParams())).toEqual(['setup']);
});

test('withQuery sets and removes a parameter, and keeps the others', () => {
  expect(withQuery(new URLSearchParams('c=web'), 'q', 'a b').toString()).toBe('c=web&q=a+b');
  expect(withQuery(new URLSearchParams('c=web&q=x'), 'q', '').toString()).toBe('c=web');
});
