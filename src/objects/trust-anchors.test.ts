import { expect, test } from 'vitest';
import { normalizeTrustAnchors } from './trust-anchors.ts';

const pem = (text: string, kind = 'CERTIFICATE', headers = ''): string =>
  `-----BEGIN ${kind}-----\n${headers}${Buffer.from(text).toString('base64')}\n-----END ${kind}-----\n`;
/** The certificates' contents, sorted. */
const contents = (text: string): readonly string[] =>
  [...text.matchAll(/-----BEGIN CERTIFICATE-----\n([\s\S]*?)\n-----END CERTIFICATE-----\n/g)]
    .map(([, body = '']) => Buffer.from(body, 'base64').toString())
    .sort();

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['an empty bundle', [''], []],
  ['one certificate', [pem('a')], ['a']],
  ['several bundles, each certificate once', [pem('a') + pem('b'), pem('b') + pem('c')], ['a', 'b', 'c']],
  ['text around the blocks is dropped', [`# issued by x\n${pem('a')}and so on\n`], ['a']],
  ['headers are dropped', [pem('a', 'CERTIFICATE', 'Proc-Type: 4\nX: y\n\n')], ['a']],
  ['another block type is treated as a certificate, as upstream', [pem('a', 'TRUSTED')], ['a']],
  ['CRLF line endings', [pem('a').replaceAll('\n', '\r\n')], ['a']],
  ['invalid base64 is skipped', ['-----BEGIN C-----\n!!\n-----END C-----\n', pem('b')], ['b']],
  ['a block without END is skipped', ['-----BEGIN CERTIFICATE-----\nYQ==\n', pem('b')], ['b']],
];
for (const [name, bundles, want] of cases)
  test(`normalizeTrustAnchors: ${name}`, () =>
    expect(contents(normalizeTrustAnchors(bundles, 'salt'))).toEqual(want));

test('wraps lines at 64 characters', () => {
  const lines = normalizeTrustAnchors([pem('x'.repeat(100))], 'salt').split('\n');
  expect(lines.map(({ length }) => length)).toEqual([27, 64, 64, 8, 25, 0]);
});

test('orders certificates by the salt', () => {
  const bundles = Array.from({ length: 20 }, (_, at) => pem(`certificate ${at}`));
  const first = normalizeTrustAnchors(bundles, 'one');
  expect(normalizeTrustAnchors(bundles.toReversed(), 'one')).toBe(first);
  expect(normalizeTrustAnchors(bundles, 'two')).not.toBe(first);
});

// Searching for the end of each block separately would take minutes.
test.each(['-----BEGIN A-----\n', '-----BEGIN ', '-----END ', 'a:', ':', '\r', '-', '\n'])(
  'parses two megabytes of %j in linear time',
  (part) => {
    const bundle = `${part.repeat(2_000_000 / part.length)}-----END B-----\n`;
    expect(contents(normalizeTrustAnchors([bundle, pem('a')], 'salt'))).toEqual(['a']);
    expect(contents(normalizeTrustAnchors([`-----BEGIN B-----\n${bundle}`], 'salt'))).toEqual([]);
  },
);
