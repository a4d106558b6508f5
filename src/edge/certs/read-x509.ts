// Reads certificates and keys from PEM. Upstream: tls.X509KeyPair, certutil.ParseCertsPEM.
// Invariant: the key and the certificate of a returned pair match.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { CertificateFacts, CertificatePair } from '../../api/ports/certificates.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';

/** Throws an `invalid` KubeletError, whose message never contains a part of the key. */
export function readPair(certPem: string, key: Secret): CertificatePair {
  const [leaf] = readCertificates(certPem);
  if (leaf === undefined) throw unusable('it contains no certificate');
  let isMatch: boolean;
  try {
    isMatch = leaf.checkPrivateKey(createPrivateKey(key.reveal()));
  } catch {
    throw unusable('its private key cannot be read');
  }
  if (!isMatch) throw unusable('its private key belongs to another certificate');
  return { certPem, key, facts: factsOf(leaf) };
}

/** Reads certificate and key from one text, as the certificate store writes it. */
export function readCombined(text: string): CertificatePair {
  const certPem = blocks(text, /^CERTIFICATE$/).join('');
  const [key] = blocks(text, /PRIVATE KEY$/);
  if (key === undefined) throw unusable('it contains no private key');
  return readPair(certPem, new Secret(key));
}

/** Whether PEM contains a usable private key. */
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
      throw unusable(`it contains a certificate that cannot be read: ${describeError(err)}`);
    }
  });
}

export function factsOf(certificate: X509Certificate): CertificateFacts {
  const names = (certificate.subjectAltName ?? '').split(', ');
  const withPrefix = (prefix: string): readonly string[] =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return {
    commonName: attributesOf(certificate.subject, 'CN')[0] ?? '',
    organizations: attributesOf(certificate.subject, 'O'),
    issuer: attributesOf(certificate.issuer, 'CN')[0] ?? '',
    dnsNames: withPrefix('DNS:'),
    ips: withPrefix('IP Address:').map((ip) => parseIp(ip)?.text ?? ip),
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
  };
}

/**
 * Parses a name as Node.js prints it: one attribute a line, control characters escaped. Not toLegacyObject(), which leaves node:tls
 * half loaded when it is called before the first import of that module.
 */
function attributesOf(name: string, key: string): readonly string[] {
  const lines = name.split('\n').filter((line) => line.startsWith(`${key}=`));
  return lines.map((line) => line.slice(key.length + 1));
}

function blocks(pem: string, label: RegExp): readonly string[] {
  const found = pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g);
  return [...found].filter(([, name = '']) => label.test(name)).map(([block]) => `${block}\n`);
}

function unusable(problem: string): KubeletError {
  return new KubeletError('invalid', 'InvalidCertificate', `the certificate cannot be used: ${problem}`);
}
