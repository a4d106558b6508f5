// Checks keys and requests of every type with the parser of Node.js and, if installed, with openssl.
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readStubRequest } from '../../../test/api-server/rules/pod-certificate-rules.ts';
import { realClock } from '../../base/clock.ts';
import { toPem } from './der.ts';
import { podKeys } from './pod-key.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const skipNote = hasOpenssl ? '' : ' (not checked by openssl, which is not installed)';
const generate = podKeys(realClock);
const { signal } = new AbortController();

const types: readonly (readonly [string, string, object, string])[] = [
  ['RSA3072', 'rsa', { modulusLength: 3072 }, 'sha256WithRSAEncryption'],
  ['RSA4096', 'rsa', { modulusLength: 4096 }, 'sha256WithRSAEncryption'],
  ['ECDSAP256', 'ec', { namedCurve: 'prime256v1' }, 'ecdsa-with-SHA256'],
  ['ECDSAP384', 'ec', { namedCurve: 'secp384r1' }, 'ecdsa-with-SHA384'],
  ['ECDSAP521', 'ec', { namedCurve: 'secp521r1' }, 'ecdsa-with-SHA512'],
  ['ED25519', 'ed25519', {}, 'ED25519'],
];

describe.each(types)('%s', (keyType, kind, details, algorithm) => {
  test(`is a PKCS #8 key with an empty request that it has signed${skipNote}`, {
    timeout: 60_000,
  }, async () => {
    const { key, request } = await generate(keyType, signal);
    expect(key.reveal()).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const privateKey = createPrivateKey(key.reveal());
    expect(privateKey.asymmetricKeyType).toBe(kind);
    expect(privateKey.asymmetricKeyDetails).toMatchObject(details);
    expect(readStubRequest(request)).toMatchObject({ isSigned: true, isEmpty: true });
    if (!hasOpenssl) return;
    const options = { input: toPem('CERTIFICATE REQUEST', Buffer.from(request)), encoding: 'utf8' } as const;
    const text = execFileSync('openssl', ['req', '-noout', '-text', '-verify'], {
      ...options,
      stdio: 'pipe',
    });
    expect(text).toMatch(/Subject: *\n/);
    expect(text).toContain(`Signature Algorithm: ${algorithm}`);
  });
});

test('rejects an unknown key type by name', async () => {
  await expect(generate('DSA', signal)).rejects.toThrow('unknown key type "DSA"');
});

test('generates RSA keys one at a time, other keys beside them', async () => {
  const order: string[] = [];
  const note = async (keyType: string): Promise<void> => {
    await generate(keyType, signal);
    order.push(keyType);
  };
  await Promise.all([note('RSA4096'), note('RSA3072'), note('ED25519'), note('ECDSAP256')]);
  expect(order.slice(2)).toEqual(['RSA4096', 'RSA3072']);
}, 60_000);

test('the event loop turns while an RSA key is generated', async () => {
  let turns = 0;
  const count = setInterval(() => turns++, 1);
  await generate('RSA4096', signal);
  clearInterval(count);
  expect(turns).toBeGreaterThan(2);
}, 60_000);

test('an RSA key that waits for another one can be given up', async () => {
  const first = generate('RSA3072', signal);
  const stop = new AbortController();
  const second = generate('RSA3072', stop.signal);
  stop.abort(new Error('no longer needed'));
  await expect(second).rejects.toThrow('no longer needed');
  await first;
}, 60_000);
