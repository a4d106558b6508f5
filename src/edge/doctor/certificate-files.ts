// Reads certificates from files and kubeconfigs for a report: what is wrong with one is a result, not an error.
import { readFile } from 'node:fs/promises';
import type { CertificateFacts } from '../../api/ports/certificates.ts';
import type { Material } from '../../api/ports/cluster-access.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { readMaterial } from '../certs/bootstrap-kubeconfig.ts';
import { factsOf, readCertificates, readCombined, readPair } from '../certs/read-x509.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { untilAnswers } from './answering-file.ts';

type CertificateState =
  | { readonly state: 'none' }
  | { readonly state: 'missing' | 'invalid'; readonly where: string; readonly problem: string }
  | { readonly state: 'found'; readonly where: string; readonly certificates: readonly CertificateFacts[] };

/** The certificates of a bundle; `inside` names the file that has them embedded. */
export async function readBundle(
  material: Material | undefined,
  inside: string,
  signal: AbortSignal,
): Promise<CertificateState> {
  if (material === undefined) return { state: 'none' };
  return await found(whereOf(material, inside), async () => allOf(await readBounded(material, signal)));
}

/** A certificate with its key. */
export async function readIdentity(
  pair: { readonly cert: Material; readonly key: Material } | undefined,
  inside: string,
  signal: AbortSignal,
): Promise<CertificateState> {
  if (pair === undefined) return { state: 'none' };
  return await found(whereOf(pair.cert, inside), async () => {
    const cert = await readBounded(pair.cert, signal);
    const key = new Secret(await readBounded(pair.key, signal));
    return allOf(readPair(cert, key).certPem);
  });
}

/** A file with both, as the kubelet stores certificates that it was issued. */
export async function readCombinedFile(path: string, signal: AbortSignal): Promise<CertificateState> {
  return await found(path, async () => {
    await untilAnswers(path, signal);
    return allOf(readCombined(await readFile(path, 'utf8')).certPem);
  });
}

async function readBounded(material: Material, signal: AbortSignal): Promise<string> {
  if ('file' in material) await untilAnswers(material.file, signal);
  return await readMaterial(material);
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
