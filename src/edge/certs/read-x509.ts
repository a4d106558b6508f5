// Reads a certificate and its key from PEM, and says what it says. Upstream: tls.X509KeyPair, certutil.ParseCertsPEM.
// Invariant: a pair that was read belongs together and can be given to TLS.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { CertificateFacts, CertificatePair } from '../../api/ports/certificates.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';

/** Throws an `invalid` KubeletError that says what is wrong; never with a part of the key. */
export function readPair(certPem: string, key: Secret): CertificatePair {
  const [leaf] = readCertificates(certPem);
  if (leaf === undefined) throw unusable('there is no certificate in it');
  let belongs: boolean;
  try {
    belongs = leaf.checkPrivateKey(createPrivateKey(key.reveal()));
  } catch {
    throw unusable('its private key cannot be read');
  }
  if (!belongs) throw unusable('its private key belongs to another certificate');
  return { certPem, key, facts: factsOf(leaf) };
}

/** A file that holds both, as the certificate store writes it. */
export function readCombined(text: string): CertificatePair {
  const certPem = blocks(text, /^CERTIFICATE$/).join('');
  const [key] = blocks(text, /PRIVATE KEY$/);
  if (key === undefined) throw unusable('there is no private key in it');
  return readPair(certPem, new Secret(key));
}

/** Whether PEM holds a private key that can be used. */
export function isKey(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}

export function keyKind(key: Secret): 'ec' | 'rsa' {
  return createPrivateKey(key.reveal()).asymmetricKeyType === 'rsa' ? 'rsa' : 'ec';
}

export function readCertificates(pem: string): readonly X509Certificate[] {
  return blocks(pem, /^CERTIFICATE$/).map((block) => {
    try {
      return new X509Certificate(block);
    } catch (err) {
      throw unusable(`a certificate in it cannot be read: ${describeError(err)}`);
    }
  });
}

export function factsOf(certificate: X509Certificate): CertificateFacts {
  const names = (certificate.subjectAltName ?? '').split(', ');
  const named = (prefix: string): readonly string[] =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return {
    commonName: attributesOf(certificate.subject, 'CN')[0] ?? '',
    organizations: attributesOf(certificate.subject, 'O'),
    issuer: attributesOf(certificate.issuer, 'CN')[0] ?? '',
    dnsNames: named('DNS:'),
    ips: named('IP Address:').map((ip) => parseIp(ip)?.text ?? ip),
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
  };
}

/**
 * Of a name as Node writes it: one attribute a line, control characters escaped. Not by toLegacyObject(), which leaves
 * node:tls half loaded when it is called before anybody has imported that.
 */
function attributesOf(name: string, key: string): readonly string[] {
  const lines = name.split('\n').filter((line) => line.startsWith(`${key}=`));
  return lines.map((line) => line.slice(key.length + 1));
}

function blocks(pem: string, label: RegExp): readonly string[] {
  const found = pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g);
  return [...found].filter(([, name = '']) => label.test(name)).map(([block]) => `${block}\n`);
}

function unusable(why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidCertificate', `the certificate cannot be used: ${why}`);
}
