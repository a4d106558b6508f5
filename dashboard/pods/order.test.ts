import { describe, expect, test } from 'vitest';
import { asPodUid } from '../../src/api/pod/pod-ref.ts';
import type { PodRow } from '../../src/api/ports/node-page.ts';
import { UsageHistory } from '../data/usage-history.ts';
import { filterRows, firstDirection, formatOrder, namespacesOf, parseOrder, sortRows } from './order.ts';

function row(name: string, over: Partial<PodRow> = {}): PodRow {
  return {
    uid: asPodUid(name),
    namespace: 'default',
    name,
    status: 'Running',
    tone: 'good',
    sentence: 'All containers run.',
    sinceMs: 0,
    ready: 1,
    containers: 1,
    restarts: 0,
    lastRestartMs: undefined,
    createdMs: 0,
    ip: '10.0.0.1',
    source: 'api',
    ...over,
  };
}

const names = (rows: readonly PodRow[]) => rows.map(({ name }) => name);

describe('sortRows', () => {
  const history = new UsageHistory();
  history.reset([{ atMs: 1, node: [0, 0], pods: { a: [5, 100], b: [50, 10] } }]);
  const rows = [
    row('b', { tone: 'good', restarts: 3, createdMs: 100 }),
    row('a', { tone: 'done', createdMs: 300 }),
    row('c', { tone: 'bad', namespace: 'apps', restarts: 3, createdMs: 200 }),
  ];
  test.each([
    ['name', ['a', 'b', 'c']],
    ['-name', ['c', 'b', 'a']],
    ['namespace', ['c', 'a', 'b']],
    ['status', ['c', 'b', 'a']],
    ['-restarts', ['c', 'b', 'a']],
    ['age', ['a', 'c', 'b']],
    ['-cpu', ['b', 'a', 'c']],
    ['-memory', ['a', 'b', 'c']],
    ['memory', ['c', 'b', 'a']],
  ])('by %s', (order, want) => {
    expect(names(sortRows(rows, parseOrder(order), history))).toEqual(want);
  });
});

test('parseOrder reads what formatOrder writes, and begins with what needs attention', () => {
  expect(formatOrder(parseOrder('-cpu'))).toBe('-cpu');
  expect(parseOrder('nonsense')).toEqual({ by: 'status', descending: false });
  expect(parseOrder(null)).toEqual({ by: 'status', descending: false });
  expect([firstDirection('cpu').descending, firstDirection('name').descending]).toEqual([true, false]);
});

test.each([
  ['', '', ['web-1', 'db', 'job']],
  ['WEB', '', ['web-1']],
  ['10.0.0.1 run', '', ['web-1', 'job']],
  ['back-off', '', ['db']],
  ['', 'apps', ['db']],
  ['web', 'apps', []],
  ['.*', '', []],
])('filters by %j in namespace %j', (text, namespace, want) => {
  const rows = [
    row('web-1'),
    row('db', { namespace: 'apps', ip: '10.0.0.2', sentence: 'The kubelet waits: back-off of 40 s.' }),
    row('job'),
  ];
  expect(names(filterRows(rows, text, namespace))).toEqual(want);
});

test('namespacesOf lists each once', () => {
  expect(namespacesOf([row('a', { namespace: 'z' }), row('b'), row('c', { namespace: 'z' })])).toEqual([
    'default',
    'z',
  ]);
});
