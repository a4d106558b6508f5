import { expect, test } from 'vitest';
import { certificatePem, pemBlocks } from './pem.ts';

const block = (content: string, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${content}\n-----END ${label}-----\n`;

const cases: readonly (readonly [string, string, readonly string[]])[] = [
  ['nothing', 'no certificate', []],
  ['blocks in order, whatever their label', block('YWFh') + block('YmJi', 'X'), ['YWFh', 'YmJi']],
  ['text between blocks', `before\n${block('YWFh')}between\n${block('YmJi')}after`, ['YWFh', 'YmJi']],
  ['headers', block('Proc-Type: 4\n\nYWFh'), ['YWFh']],
  ['line breaks of any kind', block('YWFh\r\nYmJi\n Y2Nj '), ['YWFhYmJiY2Nj']],
  ['a block that is no base64', block('?') + block('YWFh'), ['YWFh']],
  ['a block without an end', `-----BEGIN CERTIFICATE-----\nYWFh`, []],
  ['a block that ends as another', '-----BEGIN A-----\nYWFh\n-----END B-----\n', []],
];
for (const [name, text, want] of cases) test(`splits ${name}`, () => expect(pemBlocks(text)).toEqual(want));

test('encodes a certificate in lines of 64 characters', () => {
  const base64 = Buffer.from('x'.repeat(60)).toString('base64');
  expect(certificatePem(base64)).toBe(block(`${base64.slice(0, 64)}\n${base64.slice(64)}`));
  expect(pemBlocks(certificatePem(base64))).toEqual([base64]);
});

test('splits hostile text in linear time', () => {
  const startMs = performance.now();
  for (const part of ['-----BEGIN A-----\n', '-----END A-----', '-----BEGIN A-----\nx:\n-----END '])
    pemBlocks(part.repeat(20_000));
  expect(performance.now() - startMs).toBeLessThan(2_000);
});
