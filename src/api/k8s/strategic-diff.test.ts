import { expect, test } from 'vitest';
import { strategicDiff } from './strategic-diff.ts';

const keys = { 'status.conditions': 'type' };
const ready = { type: 'Ready', status: 'True', lastProbeTime: null };
const foreign = { type: 'example.com/x', status: 'True' };

const cases: readonly (readonly [string, object, object, object | undefined])[] = [
  ['the same: nothing', { status: { a: 1 } }, { status: { a: 1 } }, undefined],
  ['a field that changed', { status: { a: 1, b: 2 } }, { status: { a: 1, b: 3 } }, { status: { b: 3 } }],
  ['a field that is gone', { status: { a: 1, b: 2 } }, { status: { a: 1 } }, { status: { b: null } }],
  ['undefined is not there', { a: 1 }, { a: 1, b: undefined }, undefined],
  ['null was not there before', { a: null }, {}, undefined],
  ['nothing becomes null', {}, { a: null }, undefined],
  [
    'keyed elements that differ in nothing',
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    { status: { conditions: [ready] } },
    undefined,
  ],
  [
    'a plain list whose elements differ only in times that never were',
    { l: [{ name: 'c', state: { terminated: { exitCode: 137 } }, lastState: {} }] },
    { l: [{ name: 'c', state: { terminated: { exitCode: 137, startedAt: null } }, lastState: {} }] },
    undefined,
  ],
  [
    'a plain list with one element that lost a time',
    { l: [{ name: 'c', startedAt: 'then' }] },
    { l: [{ name: 'c', startedAt: null }] },
    { l: [{ name: 'c', startedAt: null }] },
  ],
  ['a plain list is replaced', { l: [1, 2] }, { l: [2] }, { l: [2] }],
  [
    'a keyed element that changed leaves the others alone',
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
    'a keyed element that is gone is deleted by its key',
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
    'a first list goes as it is',
    { status: {} },
    { status: { conditions: [ready] } },
    { status: { conditions: [ready] } },
  ],
];

for (const [name, before, after, want] of cases)
  test(`strategicDiff: ${name}`, () => expect(strategicDiff(before, after, keys)).toEqual(want));
