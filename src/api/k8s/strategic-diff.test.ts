import { expect, test } from 'vitest';
import { strategicDiff } from './strategic-diff.ts';

const keys = { 'status.conditions': 'type' };
const ready = { type: 'Ready', status: 'True', lastProbeTime: null };
const foreign = { type: 'example.com/x', status: 'True' };

const cases: readonly (readonly [string, object, object, object | undefined])[] = [
  ['equal objects: no patch', { status: { a: 1 } }, { status: { a: 1 } }, undefined],
  ['a changed field', { status: { a: 1, b: 2 } }, { status: { a: 1, b: 3 } }, { status: { b: 3 } }],
  ['a removed field', { status: { a: 1, b: 2 } }, { status: { a: 1 } }, { status: { b: null } }],
  ['undefined equals absent', { a: 1 }, { a: 1, b: undefined }, undefined],
  ['null equals absent', { a: null }, {}, undefined],
  ['absent becomes null', {}, { a: null }, undefined],
  [
    'equal elements with a merge key',
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    { status: { conditions: [ready] } },
    undefined,
  ],
  [
    'a plain list whose elements differ only in null times',
    { l: [{ name: 'c', state: { terminated: { exitCode: 137 } }, lastState: {} }] },
    { l: [{ name: 'c', state: { terminated: { exitCode: 137, startedAt: null } }, lastState: {} }] },
    undefined,
  ],
  [
    'a plain list whose element lost a time',
    { l: [{ name: 'c', startedAt: 'then' }] },
    { l: [{ name: 'c', startedAt: null }] },
    { l: [{ name: 'c', startedAt: null }] },
  ],
  ['a plain list is replaced', { l: [1, 2] }, { l: [2] }, { l: [2] }],
  [
    'a changed element with a merge key: only it is in the patch',
    { status: { conditions: [foreign, { ...ready, status: 'False', reason: 'R' }] } },
    { status: { conditions: [foreign, ready] } },
    {
      status: {
        '$setElementOrder/conditions': [{ type: 'example.com/x' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', status: 'True', reason: null }],
      },
    },
  ],
  [
    'a removed element with a merge key is deleted by its key',
    { status: { conditions: [foreign, ready] } },
    { status: { conditions: [ready] } },
    {
      status: {
        '$setElementOrder/conditions': [{ type: 'Ready' }],
        conditions: [{ $patch: 'delete', type: 'example.com/x' }],
      },
    },
  ],
  [
    'a new list is sent as a whole',
    { status: {} },
    { status: { conditions: [ready] } },
    { status: { conditions: [ready] } },
  ],
];

for (const [name, before, after, want] of cases)
  test(`strategicDiff: ${name}`, () => expect(strategicDiff(before, after, keys)).toEqual(want));
