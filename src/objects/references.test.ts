import { expect, test } from 'vitest';
import { References } from './references.ts';

test('References reports only the first and the last reference to each object', () => {
  const calls: string[] = [];
  const references = new References({
    first: (namespace, name) => calls.push(`first ${namespace}/${name}`),
    last: (namespace, name) => calls.push(`last ${namespace}/${name}`),
  });
  references.set('a', 'ns', ['x', 'y', 'x']);
  references.set('b', 'ns', ['x']);
  references.set('a', 'ns', ['x', 'z']);
  references.delete('b');
  references.delete('b');
  references.set('a', 'other', ['x']);
  references.delete('a');
  expect(calls).toEqual([
    'first ns/x',
    'first ns/y',
    'first ns/z',
    'last ns/y',
    'first other/x',
    'last ns/x',
    'last ns/z',
    'last other/x',
  ]);
});
