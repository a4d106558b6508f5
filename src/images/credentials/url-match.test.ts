import { expect, test } from 'vitest';
import { parseAddress, registryMatches } from './url-match.ts';

test.each([
  ['*.kubernetes.io', 'prefix.kubernetes.io', true],
  ['prefix.*.io', 'prefix.kubernetes.io', true],
  ['prefix.kubernetes.*', 'prefix.kubernetes.io', true],
  ['*-good.kubernetes.io', 'prefix-good.kubernetes.io', true],
  ['*.kubernetes.io/blah', 'prefix.kubernetes.io/blah', true],
  ['prefix.*.io/foo', 'prefix.kubernetes.io/foo/bar', true],
  ['*.*.kubernetes.io', 'a.b.kubernetes.io', true],
  ['*.kubernetes.io', 'kubernetes.io', false],
  ['*.kubernetes.io', 'a.b.kubernetes.io', false],
  ['*.kubernetes.io', 'kubernetes.com', false],
  ['kubernetes.io', 'kubernetes.com', false],
  ['k*.io', 'quay.io', false],
  ['*kubernetes.io', 'a.kubernetes.io', false],
  ['*.kubernetes.io/blah', 'prefix.kubernetes.io/other', false],
  ['example.com/a', 'example.com/ab/c', true],
  ['example.com:5000', 'example.com:5000/team/app', true],
  ['example.com:5000', 'example.com/team/app', false],
  ['example.com', 'example.com:5000/team/app', false],
  ['example.com:*', 'example.com:5000/app', false],
  ['*.example.com:5000', 'a.example.com:5000/app', true],
  ['127.0.0.1:5000', '127.0.0.1:5000/app', true],
  ['[::1]:5000', '[::1]:5000/app', true],
  ['[::1]:5000', '[::2]:5000/app', false],
  ['localhost', 'localhost/app', true],
  ['example.com:port', 'example.com:port/app', false],
  ['exa[mple.com', 'exa[mple.com/app', false],
  ['[::1', '[::1/app', false],
  ['[a:b]', '[a:b]/app', false],
])('registryMatches: %s and %s: %s', (glob, image, want) => expect(registryMatches(glob, image)).toBe(want));

// With a backtracking point per star or colon, the shortest of these takes minutes, and the others never end.
test.each([
  ['twelve stars', `${'*a'.repeat(12)}*b`, 'a'.repeat(34)],
  ['a hundred stars', `${'*a'.repeat(100)}*b`, 'a'.repeat(250)],
  ['consecutive stars', `${'*'.repeat(1_000)}b`, 'a'.repeat(250)],
  ['a megabyte of stars', '*'.repeat(1_000_000), 'a'.repeat(250)],
  ['a megabyte of classes', '*[a-z]'.repeat(200_000), 'a'.repeat(250)],
  ['a megabyte of dots', '*.'.repeat(500_000), 'a.'.repeat(500_000)],
  ['a host of a megabyte', `*${'a'.repeat(500)}b`, 'a'.repeat(1_000_000)],
  ['a megabyte of colons', `${':'.repeat(1_000_000)}]`, 'a'],
  ['a megabyte of brackets', '['.repeat(1_000_000), '['.repeat(1_000_000)],
  ['a megabyte of at signs', '@'.repeat(1_000_000), 'a'],
])('%s is matched in linear time', (_name, glob, image) =>
  expect(registryMatches(glob, `${image}/app`)).toBe(false),
);

test.each([
  ['a:b:c', undefined],
  ['a:', { host: 'a', port: '', path: '' }],
  ['[::1]', { host: '[::1]', port: '', path: '' }],
  ['[::1]:5', { host: '::1', port: '5', path: '' }],
  ['[::1]x:y', undefined],
])('parseAddress: %s', (text, want) => expect(parseAddress(text)).toEqual(want));
