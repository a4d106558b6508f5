import { expect, test } from 'vitest';
import { References } from './references.ts';

test('References tells the first and the last of each object, and nothing in between', () => {
  const told: string[] = [];
  const references = new References({
    first: (namespace, name) => told.push(`first ${namespace}/${name}`),
    last: (namespace, name) => told.push(`last ${namespace}/${name}`),
  });
  references.set('a', 'ns', ['x', 'y', 'x']);
  references.set('b', 'ns', ['x']);
  references.set('a', 'ns', ['x', 'z']);
  references.delete('b');
  references.delete('b');
  references.set('a', 'other', ['x']);
  references.delete('a');
  expect(told).toEqual([
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
