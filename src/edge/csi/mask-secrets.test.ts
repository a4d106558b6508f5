import { expect, test } from 'vitest';
import { maskSecrets, secretsOf } from './mask-secrets.ts';

const cases: readonly (readonly [string, string, readonly string[], string])[] = [
  ['nothing to mask', 'mount failed', ['hunter22'], 'mount failed'],
  ['every occurrence', 'a=hunter22 b=hunter22', ['hunter22'], 'a=***stripped*** b=***stripped***'],
  ['a secret that begins another', 'abcdefgh', ['abcd', 'abcdefgh'], '***stripped***'],
  ['secrets that overlap', '<abcdefghij>', ['abcdef', 'efghij'], '<***stripped***>'],
  ['a secret that overlaps itself', '<aaaaaaa>', ['aaaa'], '<***stripped***>'],
  ['a secret that the mask contains', 'strip secret', ['strip', 'secret'], '***stripped*** ***stripped***'],
];
for (const [name, text, secrets, want] of cases)
  test(`maskSecrets: ${name}`, () => expect(maskSecrets(text, secrets)).toBe(want));

test('masks the whole text if there are too many secrets or occurrences to search for', () => {
  const secrets = Array.from({ length: 65 }, (_, at) => `secret-${at}`);
  expect(maskSecrets('anything', secrets)).toBe('***stripped***');
  expect(maskSecrets(`a ${'hunter22 '.repeat(65)}z`, ['hunter22'])).toBe('***stripped***');
  expect(maskSecrets('a'.repeat(64 * 1024), ['aaaa'])).toBe('***stripped***');
});

test('collects values as they are, trimmed and quoted, but no short ones, and tokens', () => {
  const tokens = { 'csi.storage.k8s.io/serviceAccount.tokens': '{"aud":{"token":"t0ken"},"odd":1}' };
  expect(
    secretsOf({
      secrets: { a: ' pass"word\n', b: 'abc', c: '' },
      volumeContext: { plain: 'visible', ...tokens },
    }),
  ).toEqual([' pass"word\n', 'pass"word', 'pass\\"word', 't0ken']);
  expect(secretsOf({ volumeContext: { 'csi.storage.k8s.io/serviceAccount.tokens': '{' } })).toEqual([]);
  expect(secretsOf({})).toEqual([]);
});
