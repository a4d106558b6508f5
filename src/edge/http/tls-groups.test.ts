import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { hasTlsGroup } from './tls-groups.ts';

test('knows the groups of OpenSSL', () => {
  expect(['X25519', 'P-256', 'no-such-group'].map(hasTlsGroup)).toEqual([true, true, false]);
});

test('a group that OpenSSL lacks does not fail the next key', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  expect(hasTlsGroup('no-such-group')).toBe(false);
  expect(createPrivateKey(pem).asymmetricKeyType).toBe('ec');
});
