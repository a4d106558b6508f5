// Creates keys, certificate requests and self-signed certificates. Upstream: client-go/util/cert (MakeCSRFromTemplate,
// GenerateSelfSignedCertKey). Invariant: keys are P-256, are generated off the event loop, and are returned as Secrets only.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { promisify } from 'node:util';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { CertificateTemplate } from '../../api/ports/certificates.ts';
import { Secret } from '../../base/log/secret.ts';
import { bits, der, integer, octets, oid, sequence, set, time, toPem, truth, utf8 } from './der.ts';

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const sha256WithRsa = sequence(oid('1.2.840.113549.1.1.11'), der(0x05));
const ids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  extensionRequest: '1.2.840.113549.1.9.14',
} as const;
export const serverAuth = '1.3.6.1.5.5.7.3.1';
export const clientAuth = '1.3.6.1.5.5.7.3.2';
const version3 = der(0xa0, integer(Buffer.from([2])));
/** digitalSignature; for the authority also keyCertSign. */
const leafUse = der(0x03, Buffer.from([7, 0x80]));
const authorityUse = der(0x03, Buffer.from([2, 0x84]));

/** SEC 1, as upstream writes it: `EC PRIVATE KEY`. */
export async function newKey(): Promise<Secret> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return new Secret(privateKey.export({ type: 'sec1', format: 'pem' }) as string);
}

/** PKCS #10, in PEM, signed with the key. Throws when the key cannot be read. */
export function makeRequest(key: Secret, template: CertificateTemplate): string {
  const privateKey = createPrivateKey(key.reveal());
  const names = alternativeNames(template);
  const info = sequence(
    integer(Buffer.from([0])),
    distinguishedName(template),
    publicKeyOf(privateKey),
    // Without names the attribute set is empty, not absent.
    names === undefined ? der(0xa0) : der(0xa0, sequence(oid(ids.extensionRequest), set(sequence(names)))),
  );
  return toPem('CERTIFICATE REQUEST', signed(info, privateKey));
}

export interface SelfSigned {
  readonly host: string;
  readonly ips: readonly string[];
  readonly nowMs: number;
}

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

/**
 * A certificate for the host, signed by a CA that is created for it alone and whose key is discarded. Valid for a year,
 * backdated by an hour to allow for clock skew.
 * differs from upstream: P-256 instead of RSA 2048, which takes a hundred times as long to generate.
 */
export async function makeSelfSigned({
  host,
  ips,
  nowMs,
}: SelfSigned): Promise<{ certPem: string; key: Secret }> {
  const stamp = Math.floor(nowMs / 1000);
  const authorityName = distinguishedName({ commonName: `${host}-ca@${stamp}`, organizations: [] });
  const authorityKey = createPrivateKey((await newKey()).reveal());
  const key = await newKey();
  const hostIp = parseIp(host);
  const names = alternativeNames({
    dnsNames: hostIp === undefined ? [host] : [],
    ips: [...new Set([...(hostIp === undefined ? [] : [hostIp.text]), ...ips])],
  });
  const certificate = (subject: Buffer, publicKey: Buffer, ...extensions: readonly Buffer[]): string => {
    const validity = sequence(time(nowMs - hourMs), time(nowMs - hourMs + yearMs));
    const body = sequence(
      version3,
      serialNumber(),
      ecdsaWithSha256,
      authorityName,
      validity,
      subject,
      publicKey,
      der(0xa3, sequence(...extensions)),
    );
    return toPem('CERTIFICATE', signed(body, authorityKey));
  };
  const leaf = certificate(
    distinguishedName({ commonName: `${host}@${stamp}`, organizations: [] }),
    publicKeyOf(createPrivateKey(key.reveal())),
    extension(ids.keyUsage, true, leafUse),
    extension(ids.extendedKeyUsage, false, sequence(oid(serverAuth))),
    extension(ids.basicConstraints, true, sequence()),
    ...(names === undefined ? [] : [names]),
  );
  const authority = certificate(
    authorityName,
    publicKeyOf(authorityKey),
    extension(ids.keyUsage, true, authorityUse),
    extension(ids.basicConstraints, true, sequence(truth())),
  );
  return { certPem: leaf + authority, key };
}

export function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [truth()] : []), octets(value));
}

/** Positive, sixteen bytes. */
export function serialNumber(): Buffer {
  return integer(Buffer.concat([Buffer.from([1]), randomBytes(15)]));
}

export function distinguishedName({
  commonName,
  organizations,
}: Pick<CertificateTemplate, 'commonName' | 'organizations'>): Buffer {
  const attribute = (id: string, text: string): Buffer => set(sequence(oid(id), utf8(text)));
  return sequence(
    ...organizations.map((each) => attribute(ids.organization, each)),
    attribute(ids.commonName, commonName),
  );
}

/** The extension; undefined without names. */
export function alternativeNames({
  dnsNames,
  ips,
}: Pick<CertificateTemplate, 'dnsNames' | 'ips'>): Buffer | undefined {
  const names = [
    ...dnsNames.map((name) => der(0x82, Buffer.from(name))),
    ...ips.flatMap((ip) => {
      const bytes = parseIp(ip)?.bytes;
      return bytes === undefined ? [] : [der(0x87, Buffer.from(bytes))];
    }),
  ];
  return names.length === 0 ? undefined : extension(ids.alternativeNames, false, sequence(...names));
}

function publicKeyOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
}

/** Body, algorithm and signature. A pending key that another tool created may be an RSA key. */
function signed(body: Buffer, key: KeyObject): Buffer {
  const algorithm = key.asymmetricKeyType === 'rsa' ? sha256WithRsa : ecdsaWithSha256;
  return sequence(body, algorithm, bits(sign('sha256', body, key)));
}
