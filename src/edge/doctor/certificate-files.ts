// Reads certificates from files and kubeconfigs for a report: what is wrong with one is a result, not an error.
import { readFile } from 'node:fs/promises';
import type { CertificateFacts } from '../../api/ports/certificates.ts';
import type { Material } from '../../api/ports/cluster-access.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { readMaterial } from '../certs/bootstrap-kubeconfig.ts';
import { factsOf, readCertificates, readCombined, readPair } from '../certs/read-x509.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

type CertificateState =
  | { readonly state: 'none' }
  | { readonly state: 'missing' | 'invalid'; readonly where: string; readonly problem: string }
  | { readonly state: 'found'; readonly where: string; readonly certificates: readonly CertificateFacts[] };

/** The certificates of a bundle; `inside` names the file that has them embedded. */
export async function readBundle(material: Material | undefined, inside: string): Promise<CertificateState> {
  if (material === undefined) return { state: 'none' };
  return await found(whereOf(material, inside), async () => allOf(await readMaterial(material)));
}

/** A certificate with its key. */
export async function readIdentity(
  pair: { readonly cert: Material; readonly key: Material } | undefined,
  inside: string,
): Promise<CertificateState> {
  if (pair === undefined) return { state: 'none' };
  return await found(whereOf(pair.cert, inside), async () => {
    const { certPem } = readPair(await readMaterial(pair.cert), new Secret(await readMaterial(pair.key)));
    return allOf(certPem);
  });
}

/** A file with both, as the kubelet stores certificates that it was issued. */
export async function readCombinedFile(path: string): Promise<CertificateState> {
  return await found(path, async () => allOf(readCombined(await readFile(path, 'utf8')).certPem));
}

function whereOf(material: Material, inside: string): string {
  return 'file' in material ? material.file : inside;
}

function allOf(pem: string): readonly CertificateFacts[] {
  return readCertificates(pem).map((each) => factsOf(each));
}

async function found(
  where: string,
  read: () => Promise<readonly CertificateFacts[]>,
): Promise<CertificateState> {
  try {
    return { state: 'found', where, certificates: await read() };
  } catch (err) {
    const cause = err instanceof KubeletError ? err.cause : err;
    const isMissing = errorCode(err) === 'ENOENT' || errorCode(cause) === 'ENOENT';
    return { state: isMissing ? 'missing' : 'invalid', where, problem: describeError(err) };
  }
}
