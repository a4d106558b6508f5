// Validation of PodCertificateRequests, as far as kubelets and signers notice it.
// Upstream: ValidatePodCertificateRequestCreate and …StatusUpdate in pkg/apis/certificates/validation.
import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PodCertificateRequest } from '../../../src/api/k8s/types.ts';
import { oid } from '../../../src/edge/certs/der.ts';
import { invalid } from '../api-error.ts';
import { children } from '../der-read.ts';
import { resourceOf } from '../objects/resources.ts';
import type { StoredObject } from '../objects/stored-object.ts';

interface StubRequest {
  readonly publicKey: KeyObject;
  /** By its own key. */
  readonly isSigned: boolean;
  /** Neither a subject nor attributes. */
  readonly isEmpty: boolean;
}

const digests: readonly (readonly [string, string | null])[] = [
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
];
const none = Buffer.alloc(0);

/** Throws if the bytes are not a PKCS #10 request. */
export function readStubRequest(der: Uint8Array): StubRequest {
  const [info, algorithm, signature] = children(children(Buffer.from(der))[0]?.content ?? none);
  const [, subject, publicKeyInfo, attributes] = children(info?.content ?? none);
  const publicKey = createPublicKey({ key: publicKeyInfo?.raw ?? none, format: 'der', type: 'spki' });
  const id = children(algorithm?.content ?? none)[0]?.raw ?? none;
  const [, digest] = digests.find(([each]) => oid(each).equals(id)) ?? [];
  // The first byte of a bit string counts its unused bits.
  const signatureBytes = signature?.content.subarray(1) ?? none;
  return {
    publicKey,
    isSigned: digest !== undefined && verify(digest, info?.raw ?? none, publicKey, signatureBytes),
    isEmpty: subject?.content.length === 0 && attributes?.content.length === 0,
  };
}

const kubernetesSigner = /^kubernetes\.io\//;
const [minSeconds, maxSeconds, maxOwnSeconds] = [3600, 91 * 86_400, 86_400];

/** A new request with its default lifetime and an empty status. */
export function preparePodCertificateRequest(object: StoredObject): StoredObject {
  const spec = object.spec as PodCertificateRequest['spec'];
  const bad = badField(object);
  const { maxExpirationSeconds = 86_400, signerName, stubPKCS10Request } = spec;
  const longest = kubernetesSigner.test(signerName) ? maxOwnSeconds : maxSeconds;
  if (maxExpirationSeconds < minSeconds || maxExpirationSeconds > longest)
    bad('spec.maxExpirationSeconds', 'Invalid value: out of range');
  const request = readOrBad(stubPKCS10Request, bad);
  const { asymmetricKeyDetails: details = {}, asymmetricKeyType: kind = '' } = request.publicKey;
  const size = details.modulusLength ?? details.namedCurve ?? '';
  if (![3072, 4096, 'prime256v1', 'secp384r1', 'secp521r1'].includes(size) && kind !== 'ed25519')
    bad('spec.stubPKCS10Request', `Invalid value: unsupported key ${kind} ${size}`);
  if (!request.isSigned) bad('spec.stubPKCS10Request', 'Invalid value: invalid signature');
  return { ...object, spec: { ...spec, maxExpirationSeconds }, status: {} };
}

const maxChainBytes = 100 * 1024;
const tenMinutesMs = 600_000;

/** Throws if a signer may not change the status in this way. */
export function checkPodCertificateStatus(before: StoredObject, after: StoredObject): void {
  if (isDeepStrictEqual(before.status, after.status)) return;
  const { spec, status } = after as unknown as PodCertificateRequest;
  const bad = badField(after);
  const isDone = ((before.status as PodCertificateRequest['status'])?.conditions ?? []).length > 0;
  if (isDone) bad('status', 'Invalid value: immutable after the request is issued, denied, or failed');
  if (status?.conditions?.some(({ type }) => type === 'Issued') !== true) return;
  const { beginRefreshAt = '', certificateChain = '', notAfter = '', notBefore = '' } = status;
  if (certificateChain.length > maxChainBytes)
    bad('status.certificateChain', `Too long: may not be more than ${maxChainBytes} bytes`);
  const leaf = new X509Certificate(certificateChain.slice(certificateChain.indexOf('-----BEGIN')));
  if (!leaf.publicKey.equals(readOrBad(spec.stubPKCS10Request, bad).publicKey))
    bad('status.certificateChain', 'Invalid value: not issued to the requested public key');
  const [from, to, refresh] = [Date.parse(notBefore), Date.parse(notAfter), Date.parse(beginRefreshAt)];
  if (from !== Date.parse(leaf.validFrom) || to !== Date.parse(leaf.validTo))
    bad('status.notAfter', 'Invalid value: must be the time encoded in the leaf certificate');
  if (to - from < minSeconds * 1000 || to - from > (spec.maxExpirationSeconds ?? 0) * 1000)
    bad('status.certificateChain', 'Invalid value: lifetime out of range');
  if (!(refresh >= from + tenMinutesMs && refresh <= to - tenMinutesMs))
    bad('status.beginRefreshAt', 'Invalid value: must be 10 minutes away from notBefore and notAfter');
}

type BadField = (field: string, why: string) => never;

function badField({ metadata }: StoredObject): BadField {
  return (field, why) => {
    throw invalid(resourceOf('podcertificaterequests'), metadata.name ?? '', field, why);
  };
}

function readOrBad(base64: string, bad: BadField): StubRequest {
  try {
    return readStubRequest(Buffer.from(base64, 'base64'));
  } catch {
    return bad('spec.stubPKCS10Request', 'Invalid value: must be a valid PKCS#10 CSR');
  }
}
