// Has one certificate signed: makes the request, or finds the one that an earlier life made, and waits for the answer.
// Upstream: client-go/util/certificate/csr. Invariant: nothing is left running when it settles.
import type { CertificateSigningRequest } from '../api/k8s/types.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { clockSkewSeconds, isSameRequest, judgeRequest, requestGone } from './certificate-request.ts';
import type { CsrApi } from './csr-api.ts';

interface AskInput {
  readonly api: CsrApi;
  /** PKCS #10 in PEM. */
  readonly request: string;
  /** Undefined: the server chooses one. */
  readonly name: string | undefined;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly waitMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Clocks that differ by less cannot spoil a certificate: signers begin its life five minutes in the past. */
const tolerableSkewSeconds = 60;

/** The certificate in PEM. */
export async function askForCertificate(input: AskInput, signal: AbortSignal): Promise<string> {
  const { clock, log, waitMs } = input;
  const { csr: made, isNew } = await makeOrFind(input, signal);
  const name = made.metadata?.name ?? '';
  const skewSeconds = clockSkewSeconds(made, clock.now());
  if (Math.abs(skewSeconds) > tolerableSkewSeconds && isNew) {
    log.warn("This machine's clock differs from the API server's", { serverAheadSeconds: skewSeconds });
  }
  log.info('Waiting for a certificate to be issued', { csr: name, signer: input.signerName });
  const what = `certificate signing request ${name}`;
  return await withDeadline({ clock, ms: waitMs, signal, what }, (within) => issued(input, made, within));
}

async function makeOrFind(
  { api, log, name, request, signerName, usages }: AskInput,
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
    const message = `certificate signing request ${name} is there already and asks for something else`;
    throw new KubeletError('conflict', 'CertificateRequestDiffers', message);
  }
  log.info('Found the certificate signing request that was made before', { csr: name });
  return { csr: found, isNew: false };
}

async function issued(
  { api, log }: AskInput,
  made: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<string> {
  const { name = '', uid } = made.metadata ?? {};
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  let wasApproved = false;
  const answer = new Promise<string>((resolve, reject) => {
    const confirmGone = async (): Promise<void> => {
      try {
        tell(await api.get(name, both));
      } catch (err) {
        if (isKind(err, 'not-found')) reject(requestGone(name));
      }
    };
    const tell = (csr: CertificateSigningRequest | undefined): void => {
      if (csr === undefined) {
        // A list from the server's memory may be older than the request.
        void confirmGone();
        return;
      }
      const verdict = judgeRequest(csr, uid);
      if (verdict.is === 'issued') resolve(verdict.certPem);
      if (verdict.is === 'refused') reject(verdict.err);
      if (verdict.is !== 'waiting' || !verdict.approved || wasApproved) return;
      wasApproved = true;
      log.v(2).info('Certificate signing request is approved, waiting to be issued', { csr: name });
    };
    tell(made);
    void api.follow(name, tell, both).then(() => reject(signal.reason as Error));
  });
  try {
    return await answer;
  } finally {
    done.abort();
  }
}

/**
 * Whether the server has answered, be it that it refuses us: then a restart with other credentials may help. Undefined: this
 * failure says nothing about it.
 */
export function answersHealthily(err: unknown): boolean | undefined {
  if (!(err instanceof KubeletError)) return undefined;
  if (err.kind === 'unavailable' || err.kind === 'timeout') return false;
  const { code } = err.details;
  return code === undefined ? undefined : code === 401 || code === 403 || code === 404;
}
