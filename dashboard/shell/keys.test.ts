import { expect, test } from 'vitest';
import { readKey } from './keys.ts';

function press(key: string, over: Readonly<Record<string, boolean>> = {}) {
  return { key, ctrlKey: false, metaKey: false, altKey: false, ...over };
}

test.each([
  ['/', 'filter'],
  ['j', 'next'],
  ['ArrowUp', 'previous'],
  ['l', 'logs'],
  ['?', 'help'],
  ['Escape', 'back'],
  ['x', undefined],
])('%s means %s', (key, want) => {
  expect(readKey('', press(key)).action).toBe(want);
});

test('reads a pair of keys, and forgets the first when another follows', () => {
  const first = readKey('', press('g'));
  expect(first).toEqual({ action: undefined, pending: 'g' });
  expect(readKey(first.pending, press('e')).action).toBe('eviction');
  expect(readKey(first.pending, press('x'))).toEqual({ action: undefined, pending: '' });
  expect(readKey(first.pending, press('g')).action).toBe('first');
});

test('leaves shortcuts of the browser alone', () => {
  for (const modifier of ['ctrlKey', 'metaKey', 'altKey'])
    expect(readKey('', press('l', { [modifier]: true }))).toEqual({ action: undefined, pending: '' });
});
