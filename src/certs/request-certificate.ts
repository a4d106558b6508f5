// Requests one certificate: creates the CertificateSigningRequest, or adopts the one from before a restart, and waits until it is
// issued. Upstream: client-go/util/certificate/csr. Invariant: nothing is left running when it settles.
import type { CertificateSigningRequest } from '../api/k8s/types.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { clockSkewSeconds, isSameRequest, judgeRequest, requestGone } from './certificate-request.ts';
import type { CsrApi } from './csr-api.ts';

interface RequestInput {
  readonly api: CsrApi;
  /** PKCS #10 in PEM. */
  readonly request: string;
  /** Undefined: the API server generates one. */
  readonly name: string | undefined;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly waitMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A smaller skew does not invalidate a certificate: signers backdate notBefore by five minutes. */
const tolerableSkewSeconds = 60;

/** Returns the certificate in PEM. Rejects when the request is denied, fails, is deleted, or is not issued within `waitMs`. */
export async function requestCertificate(input: RequestInput, signal: AbortSignal): Promise<string> {
  const { clock, log, waitMs } = input;
  const { csr, isNew } = await createOrAdopt(input, signal);
  const name = csr.metadata?.name ?? '';
  const skewSeconds = clockSkewSeconds(csr, clock.now());
  if (Math.abs(skewSeconds) > tolerableSkewSeconds && isNew) {
    log.warn("The clock of this machine differs from the API server's", { serverAheadSeconds: skewSeconds });
  }
  log.info('Waiting for the certificate to be issued', { csr: name, signer: input.signerName });
  const what = `certificate signing request ${name}`;
  return await withDeadline({ clock, ms: waitMs, signal, what }, (within) => untilIssued(input, csr, within));
}

async function createOrAdopt(
  { api, log, name, request, signerName, usages }: RequestInput,
  signal: AbortSignal,
): Promise<{ readonly csr: CertificateSigningRequest; readonly isNew: boolean }> {
  const csr: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: name === undefined ? { generateName: 'csr-' } : { name },
    spec: { request: Buffer.from(request).toString('base64'), signerName, usages: [...usages] },
  };
  try {
    return { csr: await api.create(csr, signal), isNew: true };
  } catch (err) {
    if (name === undefined || !(err instanceof KubeletError) || err.reason !== 'AlreadyExists') throw err;
  }
  const found = await api.get(name, signal);
  if (!isSameRequest(found, { signerName, usages })) {
    const message = `certificate signing request ${name} already exists with another signer or other usages`;
    throw new KubeletError('conflict', 'CertificateRequestDiffers', message);
  }
  log.info('Adopted the existing certificate signing request', { csr: name });
  return { csr: found, isNew: false };
}

async function untilIssued(
  { api, log }: RequestInput,
  created: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<string> {
  const { name = '', uid } = created.metadata ?? {};
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  let wasApproved = false;
  const answer = new Promise<string>((resolve, reject) => {
    const confirmGone = async (): Promise<void> => {
      try {
        judge(await api.get(name, either));
      } catch (err) {
        if (isKind(err, 'not-found')) reject(requestGone(name));
      }
    };
    const judge = (csr: CertificateSigningRequest | undefined): void => {
      if (csr === undefined) {
        // A list from the API server's watch cache may be older than the request.
        void confirmGone();
        return;
      }
      const verdict = judgeRequest(csr, uid);
      if (verdict.state === 'issued') resolve(verdict.certPem);
      if (verdict.state === 'rejected') reject(verdict.err);
      if (verdict.state !== 'pending' || !verdict.approved || wasApproved) return;
      wasApproved = true;
      log.v(2).info('Certificate signing request was approved, waiting for the certificate', { csr: name });
    };
    judge(created);
    void api.follow(name, judge, either).then(() => reject(signal.reason as Error));
  });
  try {
    return await answer;
  } finally {
    done.abort();
  }
}

/**
 * Whether the API server answered, even if it rejected the request: then a restart with other credentials may help. Undefined when
 * the error does not show it.
 */
export function hasServerAnswered(err: unknown): boolean | undefined {
  if (!(err instanceof KubeletError)) return undefined;
  if (err.kind === 'unavailable' || err.kind === 'timeout') return false;
  const { code } = err.details;
  return code === undefined ? undefined : code === 401 || code === 403 || code === 404;
}
