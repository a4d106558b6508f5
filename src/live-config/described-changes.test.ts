import { expect, test } from 'vitest';
import { describeChanges } from './described-changes.ts';

test('lists old and new values, and omits those that are not set', () => {
  const before = { maxPods: 110, logging: { verbosity: 2 }, evictionHard: { 'memory.available': '5%' } };
  const after = { maxPods: 7, logging: { verbosity: 4 }, clusterDNS: ['10.0.0.1'] };
  const paths = ['maxPods', 'logging.verbosity', 'evictionHard', 'clusterDNS'] as const;
  expect(
    describeChanges(
      paths.map((path) => ({ path, applies: 'now' as const })),
      before,
      after,
    ),
  ).toEqual([
    { path: 'maxPods', applies: 'now', old: '110', new: '7' },
    { path: 'logging.verbosity', applies: 'now', old: '2', new: '4' },
    { path: 'evictionHard', applies: 'now', old: '{"memory.available":"5%"}' },
    { path: 'clusterDNS', applies: 'now', new: '["10.0.0.1"]' },
  ]);
});

test('truncates long values', () => {
  const [change] = describeChanges([{ path: 'a', applies: 'restart' }], {}, { a: 'x'.repeat(10_000) });
  expect(change?.new?.length).toBeLessThan(300);
});

test('a path through something that is not an object has no value', () => {
  expect(describeChanges([{ path: 'a.b', applies: 'now' }], { a: 1 }, { a: null })).toEqual([
    { path: 'a.b', applies: 'now' },
  ]);
});
