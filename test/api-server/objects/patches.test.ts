// Tables of patches; the strategic ones are as kubelets and kubectl send them.
import { describe, expect, test } from 'vitest';
import { jsonPatch, mergePatch, strategicMergePatch } from './patches.ts';

const condition = (type: string, status: string, more = {}) => ({ type, status, ...more });
const container = (name: string, more = {}) => ({ name, image: 'i', ...more });

describe('strategicMergePatch', () => {
  const cases: readonly (readonly [string, string, object, object, object])[] = [
    [
      'conditions merge by type',
      'Pod',
      { status: { conditions: [condition('Ready', 'False', { reason: 'x' }), condition('A', 'True')] } },
      { status: { conditions: [condition('Ready', 'True')] } },
      { status: { conditions: [condition('Ready', 'True', { reason: 'x' }), condition('A', 'True')] } },
    ],
    [
      'null removes a field of an item',
      'Node',
      { status: { conditions: [condition('Ready', 'False', { message: 'm' })] } },
      { status: { conditions: [{ type: 'Ready', message: null }] } },
      { status: { conditions: [condition('Ready', 'False')] } },
    ],
    [
      '$patch: delete removes an item, and $setElementOrder sorts the list',
      'Pod',
      { status: { conditions: [condition('A', '1'), condition('B', '1'), condition('C', '1')] } },
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'C' }, { type: 'A' }],
          conditions: [{ $patch: 'delete', type: 'B' }],
        },
      },
      { status: { conditions: [condition('C', '1'), condition('A', '1')] } },
    ],
    [
      'container statuses are replaced as a list',
      'Pod',
      { status: { containerStatuses: [{ name: 'a', ready: true }, { name: 'b' }] } },
      { status: { containerStatuses: [{ name: 'a' }] } },
      { status: { containerStatuses: [{ name: 'a' }] } },
    ],
    [
      'containers and their env merge by name, their args are replaced',
      'Pod',
      { spec: { containers: [container('a', { env: [{ name: 'X', value: '1' }], args: ['1', '2'] })] } },
      { spec: { containers: [{ name: 'a', image: 'j', env: [{ name: 'Y', value: '2' }], args: ['3'] }] } },
      {
        spec: {
          containers: [
            {
              name: 'a',
              image: 'j',
              env: [
                { name: 'X', value: '1' },
                { name: 'Y', value: '2' },
              ],
              args: ['3'],
            },
          ],
        },
      },
    ],
    [
      'addresses of a node merge by type; images are replaced',
      'Node',
      { status: { addresses: [{ type: 'Hostname', address: 'a' }], images: [{ names: ['x'] }] } },
      { status: { addresses: [{ type: 'InternalIP', address: 'b' }], images: [{ names: ['y'] }] } },
      {
        status: {
          addresses: [
            { type: 'Hostname', address: 'a' },
            { type: 'InternalIP', address: 'b' },
          ],
          images: [{ names: ['y'] }],
        },
      },
    ],
    [
      'a list is replaced with $patch: replace',
      'Node',
      { status: { addresses: [{ type: 'Hostname', address: 'a' }] } },
      { status: { addresses: [{ type: 'InternalIP', address: 'b' }, { $patch: 'replace' }] } },
      { status: { addresses: [{ type: 'InternalIP', address: 'b' }] } },
    ],
    [
      'finalizers merge as a set, and $deleteFromPrimitiveList removes some',
      'Pod',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b', 'c'] } },
    ],
    [
      '$retainKeys removes the other keys of a volume',
      'Pod',
      { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
      { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } },
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] } },
    ],
    [
      'null removes a field',
      'Pod',
      { metadata: { labels: { a: '1', b: '2' } } },
      { metadata: { labels: { a: null } } },
      { metadata: { labels: { b: '2' } } },
    ],
  ];
  for (const [name, kind, target, patch, want] of cases)
    test(name, () =>
      expect(strategicMergePatch(kind, target as Record<string, unknown>, patch)).toEqual(want),
    );

  test('rejects an item without its merge key', () => {
    const target = { status: { conditions: [] } };
    expect(() => strategicMergePatch('Pod', target, { status: { conditions: [{ status: 'x' }] } })).toThrow(
      'merge key: type',
    );
  });
});

describe('mergePatch', () => {
  const cases: readonly (readonly [string, unknown, unknown, unknown])[] = [
    ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['removes fields with null', { a: 1, b: { c: 2, d: 3 } }, { a: null, b: { c: null } }, { b: { d: 3 } }],
    [
      'creates missing objects, without their nulls',
      {},
      { a: { b: { c: null, d: 1 } } },
      { a: { b: { d: 1 } } },
    ],
  ];
  for (const [name, target, patch, want] of cases)
    test(name, () => expect(mergePatch(target, patch)).toEqual(want));
});

describe('jsonPatch', () => {
  const target = { a: { b: [1, 2], 'c/d': 'x' } };
  const cases: readonly (readonly [string, readonly object[], object])[] = [
    ['inserts into a list', [{ op: 'add', path: '/a/b/1', value: 9 }], { a: { b: [1, 9, 2], 'c/d': 'x' } }],
    ['appends to a list', [{ op: 'add', path: '/a/b/-', value: 9 }], { a: { b: [1, 2, 9], 'c/d': 'x' } }],
    ['removes a field with an escaped name', [{ op: 'remove', path: '/a/c~1d' }], { a: { b: [1, 2] } }],
    ['replaces', [{ op: 'replace', path: '/a/b/0', value: 7 }], { a: { b: [7, 2], 'c/d': 'x' } }],
    ['moves', [{ op: 'move', from: '/a/b', path: '/e' }], { a: { 'c/d': 'x' }, e: [1, 2] }],
    ['copies', [{ op: 'copy', from: '/a/b/0', path: '/e' }], { a: { b: [1, 2], 'c/d': 'x' }, e: 1 }],
    ['tests', [{ op: 'test', path: '/a/b', value: [1, 2] }], target],
  ];
  for (const [name, patch, want] of cases) test(name, () => expect(jsonPatch(target, patch)).toEqual(want));

  for (const [name, step] of [
    ['a failed test', { op: 'test', path: '/a/b/0', value: 2 }],
    ['the removal of a missing path', { op: 'remove', path: '/x' }],
    ['an unknown operation', { op: 'sing', path: '/a' }],
  ] as const)
    test(`rejects ${name}`, () => expect(() => jsonPatch(target, [step])).toThrow());
});
