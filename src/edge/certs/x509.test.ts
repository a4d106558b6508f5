// Checks the created certificates and requests with the parser of Node.js and, if installed, with openssl.
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import { makeRequest, makeSelfSigned, newKey } from './make-x509.ts';
import { factsOf, isKey, readCertificates, readCombined, readPair } from './read-x509.ts';

const nowMs = Date.UTC(2026, 10, 17, 2);
const template = {
  commonName: 'system:node:n1',
  organizations: ['system:nodes'],
  dnsNames: ['n1', 'n1.example'],
  ips: ['192.0.2.2', '2001:db8::1'],
};

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const skipNote = hasOpenssl ? '' : ' (openssl is not installed)';

function openssl(input: string, ...args: readonly string[]): string {
  return execFileSync('openssl', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
}

test('creates P-256 keys in SEC 1', async () => {
  const key = await newKey();
  expect(key.reveal()).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
  expect(createPrivateKey(key.reveal()).asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  expect([isKey(key.reveal()), isKey('none')]).toEqual([true, false]);
});

test.skipIf(!hasOpenssl)(
  `creates a request whose subject, names and signature openssl accepts${skipNote}`,
  async () => {
    const text = openssl(makeRequest(await newKey(), template), 'req', '-noout', '-text', '-verify');
    expect(text).toMatch(/Subject: O ?= ?system:nodes, CN ?= ?system:node:n1\n/);
    expect(text).toContain('DNS:n1, DNS:n1.example, IP Address:192.0.2.2, IP Address:2001:DB8:0:0:0:0:0:1');
    expect(text).toContain('Signature Algorithm: ecdsa-with-SHA256');
    expect(text).toContain('ASN1 OID: prime256v1');
  },
);

test.skipIf(!hasOpenssl)(`creates a request without names, and one with an RSA key${skipNote}`, () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = new Secret(privateKey.export({ type: 'pkcs1', format: 'pem' }) as string);
  const request = makeRequest(key, { ...template, dnsNames: [], ips: [] });
  const text = openssl(request, 'req', '-noout', '-text', '-verify');
  expect(text).not.toContain('Alternative Name');
  expect(text).toContain('sha256WithRSAEncryption');
});

test('creates a self-signed pair: a leaf for the host and its addresses, and the CA that signed it', async () => {
  const { certPem, key } = await makeSelfSigned({ host: 'n1', ips: ['192.0.2.2'], nowMs });
  const { facts } = readPair(certPem, key);
  const seconds = nowMs / 1000;
  expect(facts).toEqual({
    commonName: `n1@${seconds}`,
    organizations: [],
    issuer: `n1-ca@${seconds}`,
    dnsNames: ['n1'],
    ips: ['192.0.2.2'],
    notBeforeMs: nowMs - 3_600_000,
    notAfterMs: nowMs - 3_600_000 + 365 * 24 * 3_600_000,
  });
  const [leaf, authority] = readCertificates(certPem);
  expect(authority?.ca).toBe(true);
  expect(leaf?.ca).toBe(false);
  expect(leaf?.verify(authority?.publicKey ?? createPublicKey(key.reveal()))).toBe(true);
  expect(leaf?.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
});

test('uses a host that is an IP address as such', async () => {
  const { certPem } = await makeSelfSigned({ host: '192.0.2.7', ips: ['192.0.2.7'], nowMs });
  expect(factsOf(new X509Certificate(certPem))).toMatchObject({ dnsNames: [], ips: ['192.0.2.7'] });
});

test('creates a pair that TLS accepts, and a client that trusts its CA', async () => {
  const { certPem, key } = await makeSelfSigned({ host: 'localhost', ips: [], nowMs: Date.now() });
  const server = createServer({ cert: certPem, key: key.reveal() }, (socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const ca = certPem.slice(certPem.lastIndexOf('-----BEGIN'));
  const received = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca });
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.once('end', () => resolve(text));
    socket.once('error', reject);
  });
  server.close();
  expect(received).toBe('hello');
});

test('rejects an invalid pair with a message that does not contain the key', async () => {
  const one = await makeSelfSigned({ host: 'a', ips: [], nowMs });
  const other = await makeSelfSigned({ host: 'b', ips: [], nowMs });
  const cases = [
    [() => readPair(one.certPem, other.key), /belongs to another/],
    [() => readPair('', one.key), /contains no certificate/],
    [() => readPair(one.certPem.replace(/\nM/, '\n###'), one.key), /cannot be read/],
    [() => readPair(one.certPem, new Secret('secret words')), /private key cannot be read/],
    [() => readCombined(one.certPem), /contains no private key/],
    [() => readCombined(`${one.certPem}${one.key.reveal().slice(0, 60)}`), /contains no private key/],
  ] as const;
  for (const [read, reason] of cases) {
    expect(read).toThrow(reason);
    expect(read).not.toThrow(/secret words/);
  }
  expect(readCombined(one.certPem + one.key.reveal()).facts.dnsNames).toEqual(['a']);
});
