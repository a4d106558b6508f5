// A certificate authority for tests: issues certificates for servers and clients, and signs the requests of kubelets.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { bits, der, integer, oid, sequence, time, toPem, truth } from '../../src/edge/certs/der.ts';
import {
  alternativeNames,
  clientAuth,
  distinguishedName,
  extension,
  serialNumber,
  serverAuth,
} from '../../src/edge/certs/make-x509.ts';
import { children } from './der-read.ts';

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

interface Leaf {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly hosts?: readonly string[];
  readonly usage: 'server' | 'client';
  readonly notBeforeMs?: number;
  readonly seconds?: number;
}

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const yearSeconds = 365 * 24 * 3600;
const usages = { server: serverAuth, client: clientAuth } as const;

interface AuthorityOptions {
  /** The signer's clock. Default: the real time. */
  readonly now?: () => number;
  /** How far notBefore is in the past. Default: one minute. */
  readonly backdateSeconds?: number;
  /** The issuer of an intermediate authority; a root if absent. */
  readonly issuer?: TestAuthority;
  /** Default: `test-ca`, or `test-ca-below` for an intermediate authority. */
  readonly commonName?: string;
}

export class TestAuthority {
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #options: AuthorityOptions;
  /** How far the signer's clock runs ahead. */
  skewMs = 0;
  readonly #subject: Buffer;

  constructor(options: AuthorityOptions = {}) {
    this.#options = options;
    const { issuer } = options;
    const { commonName = issuer === undefined ? 'test-ca' : 'test-ca-below' } = options;
    this.#subject = distinguishedName({ commonName, organizations: [] });
    const { privateKey, publicKey } = newKey();
    this.#key = createPrivateKey(privateKey);
    const usage = extension('2.5.29.15', true, der(0x03, Buffer.from([2, 0x04])));
    const isCa = extension('2.5.29.19', true, sequence(truth()));
    this.cert = (issuer ?? this).#certificate(
      this.#subject,
      publicKey,
      [isCa, usage],
      (options.now ?? Date.now)() - 3_600_000,
      10 * yearSeconds,
    );
  }

  issue(leaf: Leaf): KeyPair {
    const { privateKey, publicKey } = newKey();
    const cert = this.#certificate(
      distinguishedName({ commonName: leaf.commonName, organizations: leaf.organizations ?? [] }),
      publicKey,
      extensionsOf(leaf.usage, namesOf(leaf.hosts ?? [])),
      leaf.notBeforeMs ?? Date.now() - 3_600_000,
      leaf.seconds ?? yearSeconds,
    );
    return { cert, key: privateKey };
  }

  /** Signs the subject, key and alternative names of a PKCS #10 request. For the option `sign` of ApiServerDouble. */
  readonly sign = (csrPem: string, signerName: string, seconds: number): string => {
    const [info] = children(children(fromPem(csrPem))[0]?.content ?? Buffer.alloc(0));
    const [, subject, publicKey, attributes] = children(info?.content ?? Buffer.alloc(0));
    if (subject === undefined || publicKey === undefined)
      throw new Error('invalid certificate request: bad signature');
    const usage = signerName === 'kubernetes.io/kubelet-serving' ? 'server' : 'client';
    const names = attributes === undefined ? undefined : requestedNames(attributes.content);
    const { backdateSeconds = 60, now = Date.now } = this.#options;
    const fromMs = now() + this.skewMs - backdateSeconds * 1000;
    return this.#certificate(
      subject.raw,
      publicKey.raw,
      extensionsOf(usage, names),
      fromMs,
      seconds + backdateSeconds,
    );
  };

  #certificate(
    subject: Buffer,
    publicKey: Buffer,
    extensions: readonly Buffer[],
    notBeforeMs: number,
    seconds: number,
  ): string {
    const body = sequence(
      der(0xa0, integer(Buffer.from([2]))),
      serialNumber(),
      ecdsaWithSha256,
      this.#subject,
      sequence(time(notBeforeMs), time(notBeforeMs + seconds * 1000)),
      subject,
      publicKey,
      der(0xa3, sequence(...extensions)),
    );
    return toPem('CERTIFICATE', sequence(body, ecdsaWithSha256, bits(sign('sha256', body, this.#key))));
  }
}

function newKey(): { readonly privateKey: string; readonly publicKey: Buffer } {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: pair.publicKey.export({ type: 'spki', format: 'der' }),
  };
}

function extensionsOf(usage: keyof typeof usages, names: Buffer | undefined): readonly Buffer[] {
  return [
    extension('2.5.29.15', true, der(0x03, Buffer.from([7, 0x80]))),
    extension('2.5.29.37', false, sequence(oid(usages[usage]))),
    ...(names === undefined ? [] : [names]),
  ];
}

function namesOf(hosts: readonly string[]): Buffer | undefined {
  return alternativeNames({
    dnsNames: hosts.filter((host) => isIP(host) === 0),
    ips: hosts.filter((host) => isIP(host) !== 0),
  });
}

export interface RequestContent {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly hasNames: boolean;
}

/** Throws if the text is not a certificate request. */
export function readRequest(csrPem: string): RequestContent {
  if (!csrPem.includes('BEGIN CERTIFICATE REQUEST')) throw new Error('not a certificate request');
  const [info] = children(children(fromPem(csrPem))[0]?.content ?? Buffer.alloc(0));
  const [, subject, , attributes] = children(info?.content ?? Buffer.alloc(0));
  if (subject === undefined) throw new Error('certificate request without a subject');
  const named = (id: string): readonly string[] =>
    children(subject.content).flatMap(({ content }) => {
      const [type, value] = children(children(content)[0]?.content ?? Buffer.alloc(0));
      return type?.raw.equals(oid(id)) === true ? [value?.content.toString('utf8') ?? ''] : [];
    });
  return {
    commonName: named('2.5.4.3')[0] ?? '',
    organizations: named('2.5.4.10'),
    hasNames: attributes !== undefined && requestedNames(attributes.content) !== undefined,
  };
}

/** The subjectAltName extension of the request. */
function requestedNames(attributes: Buffer): Buffer | undefined {
  const wanted = oid('2.5.29.17');
  for (const attribute of children(attributes)) {
    const [, values] = children(attribute.content);
    const [extensions] = children(values?.content ?? Buffer.alloc(0));
    for (const each of children(extensions?.content ?? Buffer.alloc(0))) {
      if (children(each.content)[0]?.raw.equals(wanted) === true) return each.raw;
    }
  }
  return undefined;
}

function fromPem(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
}
