// The certificate host of a kubelet in memory: no files, and no real keys unless the API server double signs them.
import { generateKeyPairSync, sign } from 'node:crypto';
import type { CertificatePair } from '../../src/api/ports/certificates.ts';
import type { GeneratePodKey } from '../../src/api/ports/pod-certificates.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/log/secret.ts';
import type { CertificateHost } from '../../src/certs/serving-certificate.ts';
import type { ServingPairFiles } from '../../src/certs/serving-files.ts';
import { certificateMaker } from '../../src/edge/certs/certificate-host.ts';
import { bits, der, integer, oid, sequence } from '../../src/edge/certs/der.ts';
import { readPair } from '../../src/edge/certs/read-x509.ts';

/** Synchronous, so that the fake clock need not wait for a thread. */
export const memoryMaker: CertificateHost['maker'] = {
  ...certificateMaker,
  newKey: async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return new Secret(privateKey.export({ type: 'sec1', format: 'pem' }) as string);
  },
};

const yearMs = 365 * 24 * 3_600_000;

export class MemoryCertificates implements CertificateHost {
  /** By path of the certificate. */
  readonly pairs = new Map<string, CertificatePair>();
  readonly #watchers = new Set<() => void>();
  #selfSignedCount = 0;

  servingFiles({ certFile }: { readonly certFile: string }): ServingPairFiles {
    return {
      read: async () => {
        const pair = this.pairs.get(certFile);
        if (pair === undefined)
          throw new KubeletError('invalid', 'InvalidCertificate', `cannot read ${certFile}`);
        return pair;
      },
      write: async (pair) => this.put(certFile, pair),
      watch: (onChange) => {
        this.#watchers.add(onChange);
        return { close: () => void this.#watchers.delete(onChange) };
      },
    };
  }

  /** By directory and prefix. Key and certificate are real, since the API server double signs real requests. */
  readonly store: CertificateHost['store'] = ({ directory, prefix }) => {
    const path = `${directory}/${prefix}-current.pem`;
    return {
      current: async () => this.pairs.get(path),
      update: async (certPem, key) => {
        const pair = readPair(certPem, key);
        this.pairs.set(path, pair);
        return pair;
      },
    };
  };

  readonly maker = memoryMaker;

  /** Writes a pair to the kubelet's paths, as an administrator does. */
  put(certFile: string, pair: CertificatePair): void {
    this.pairs.set(certFile, pair);
    for (const notify of this.#watchers) notify();
  }

  /** Makes the pair unreadable, as when only one of the two files was replaced. */
  spoil(certFile: string): void {
    this.pairs.delete(certFile);
    for (const notify of this.#watchers) notify();
  }

  readonly selfSigned: CertificateHost['selfSigned'] = async ({ host, ips, nowMs }) => {
    const stamp = Math.floor(nowMs / 1000);
    return memoryPair(`self-signed ${++this.#selfSignedCount}`, {
      commonName: `${host}@${stamp}`,
      issuer: `${host}-ca@${stamp}`,
      dnsNames: [host],
      ips,
      notBeforeMs: nowMs,
      notAfterMs: nowMs + yearMs,
    });
  };
}

/** A pair with placeholder texts. */
export function memoryPair(name: string, facts: Partial<CertificatePair['facts']>): CertificatePair {
  return {
    certPem: `certificate of ${name}`,
    key: new Secret(`key of ${name}`),
    facts: {
      commonName: name,
      organizations: [],
      issuer: 'test-ca',
      dnsNames: [],
      ips: [],
      notBeforeMs: 0,
      notAfterMs: yearMs,
      ...facts,
    },
  };
}

/** Synchronous as memoryMaker's, and P-256 for every key type. */
export const memoryPodKey: GeneratePodKey = async (keyType) => {
  if (keyType === 'unknown')
    throw new KubeletError('invalid', 'UnknownKeyType', `unknown key type "${keyType}"`);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const info = sequence(integer(Buffer.from([0])), sequence(), spki, der(0xa0));
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  return {
    key: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
    request: sequence(info, algorithm, bits(sign('sha256', info, privateKey))),
  };
};
