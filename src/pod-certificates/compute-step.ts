// Decides the next step of one podCertificate source: create a request, take over its verdict, renew, report. Pure.
// Upstream: handleProjection in pkg/kubelet/podcertificate, without its polling: `wakeAtMs` is when time alone changes the answer.
import type { PodCertificateRequest } from '../api/k8s/types.ts';
import type { EventText } from '../api/ports/events.ts';
import { goQuote } from '../base/log/log-value.ts';
import { certificatePem, pemBlocks } from '../base/pem.ts';
import {
  type CredentialState,
  type IssuedCertificate,
  initialState,
  overdueAfterMs,
  type PendingRequest,
} from './credential-state.ts';

interface StepInput {
  readonly state: CredentialState;
  /** The pending request as the watch last reported it. */
  readonly request: PodCertificateRequest | undefined;
  readonly nowMs: number;
  /** Delay of a renewal, so that pods that started together do not renew together. */
  readonly jitterMs: number;
}

interface Step {
  readonly state: CredentialState;
  /** A request has to be created, as the pending one of `state`. */
  readonly create: boolean;
  readonly events: readonly EventText[];
  /** Infinity: only an event changes the answer. */
  readonly wakeAtMs: number;
}

/** The API server's limit. */
const maxChainBytes = 100 * 1024;
/** Limit of what a signer's reason or message may take. */
const maxTextLength = 4096;
/**
 * A certificate that is due for renewal when it is issued is renewed no sooner than this: a signer or a clock that is wrong
 * must not cause a flood of requests. Upstream: the period of its refresh pass.
 */
const minRenewalMs = 60_000;

export function computeStep(input: StepInput): Step {
  const { state } = input;
  switch (state.is) {
    case 'initial':
      return { ...steady(state), create: true };
    case 'denied':
    case 'failed':
      return steady(state);
    case 'waiting':
      return (
        verdictOf(state.pending, input) ?? whilePending(input, state.pending, steady(state), initialState)
      );
    case 'issued':
      return state.pending === undefined
        ? renewalOf(state.issued, input)
        : (verdictOf(state.pending, input) ??
            whilePending(input, state.pending, reportsOf(state, input), { ...state, pending: undefined }));
  }
}

function steady(state: CredentialState): Step {
  return { state, create: false, events: [], wakeAtMs: Number.POSITIVE_INFINITY };
}

/** Waits for the verdict, or gives up a request that the watch does not know. */
function whilePending(
  { request, nowMs }: StepInput,
  pending: PendingRequest,
  step: Step,
  abandoned: CredentialState,
): Step {
  if (isSame(request, pending)) return step;
  // It may also be that the watch lags behind, so the request is given up only after a while.
  if (nowMs >= pending.abandonAtMs) return { ...step, state: withReports(abandoned, step), create: true };
  return { ...step, wakeAtMs: Math.min(step.wakeAtMs, pending.abandonAtMs) };
}

/** Keeps the reports of `step`, so that an event is emitted once even if its request is given up. */
function withReports(abandoned: CredentialState, { state }: Step): CredentialState {
  return abandoned.is === 'issued' && state.is === 'issued'
    ? { ...abandoned, issued: state.issued }
    : abandoned;
}

function renewalOf(issued: IssuedCertificate, input: StepInput): Step {
  const dueMs = Math.max(issued.beginRefreshAtMs, issued.issuedAtMs + minRenewalMs);
  const state = { is: 'issued', issued, pending: undefined } as const;
  if (input.nowMs < dueMs) return { ...steady(state), wakeAtMs: dueMs };
  return { ...reportsOf(state, input), create: true };
}

/** Reports a certificate that is overdue or has expired, each once. */
function reportsOf(state: Extract<CredentialState, { is: 'issued' }>, { nowMs }: StepInput): Step {
  const { issued } = state;
  const overdueAtMs = issued.beginRefreshAtMs + overdueAfterMs;
  const isOverdue = nowMs > overdueAtMs;
  const isExpired = nowMs > issued.notAfterMs;
  const events: EventText[] = [];
  if (isOverdue && !issued.overdueReported)
    events.push(warning('CertificateOverdueForRefresh', 'PodCertificate refresh overdue'));
  if (isExpired && !issued.expiryReported)
    events.push(warning('CertificateExpired', 'PodCertificate expired'));
  const reported = {
    ...issued,
    overdueReported: issued.overdueReported || isOverdue,
    expiryReported: issued.expiryReported || isExpired,
  };
  // Later than the moment itself, since both count from the millisecond after.
  const upcoming = [...(isOverdue ? [] : [overdueAtMs + 1]), ...(isExpired ? [] : [issued.notAfterMs + 1])];
  return {
    state: events.length === 0 ? state : { ...state, issued: reported },
    create: false,
    events,
    wakeAtMs: Math.min(Number.POSITIVE_INFINITY, ...upcoming),
  };
}

function isSame(
  request: PodCertificateRequest | undefined,
  { uid }: PendingRequest,
): request is PodCertificateRequest {
  return request !== undefined && request.metadata?.uid === uid;
}

/** Undefined while the request is pending. */
function verdictOf(pending: PendingRequest, { request, nowMs, jitterMs }: StepInput): Step | undefined {
  if (!isSame(request, pending)) return undefined;
  for (const { type, reason = '', message = '' } of request.status?.conditions ?? []) {
    if (type === 'Denied') return refused('denied', pending, reason, message);
    if (type === 'Failed') return refused('failed', pending, reason, message);
    if (type === 'Issued') return issuedStep(pending, request.status ?? {}, nowMs, jitterMs);
  }
  return undefined;
}

function refused(
  is: 'denied' | 'failed',
  { namespace, name }: PendingRequest,
  givenReason: string,
  givenMessage: string,
): Step {
  const [reason, message] = [givenReason.slice(0, maxTextLength), givenMessage.slice(0, maxTextLength)];
  const verb = is === 'denied' ? 'was denied' : 'failed';
  // differs from upstream, which passes the reason as the format: its message begins with `<reason>%!(EXTRA string=`.
  const text = `PodCertificateRequest ${namespace}/${name} ${verb}, reason=${goQuote(reason)}, message=${goQuote(message)}`;
  const events = [warning(is === 'denied' ? 'Denied' : 'Failed', text)];
  return { ...steady({ is, reason, message }), events };
}

function issuedStep(
  pending: PendingRequest,
  status: NonNullable<PodCertificateRequest['status']>,
  nowMs: number,
  jitterMs: number,
): Step {
  const { beginRefreshAt = '', certificateChain = '', notAfter = '' } = status;
  const beginRefreshAtMs = Date.parse(beginRefreshAt) + jitterMs;
  const notAfterMs = Date.parse(notAfter);
  const bytes = Buffer.byteLength(certificateChain);
  // differs from upstream: what the API server guarantees is checked again, since memory and the event loop depend on it.
  const problem =
    bytes > maxChainBytes
      ? `the certificate chain has ${bytes} bytes, at most ${maxChainBytes} are allowed`
      : Number.isNaN(beginRefreshAtMs + notAfterMs)
        ? 'beginRefreshAt and notAfter must be set'
        : undefined;
  if (problem !== undefined) return refused('failed', pending, 'InvalidCertificate', problem);
  const issued: IssuedCertificate = {
    key: pending.key,
    chainPem: cleanChain(certificateChain),
    issuedAtMs: nowMs,
    beginRefreshAtMs,
    notAfterMs,
    overdueReported: false,
    expiryReported: false,
  };
  return {
    ...steady({ is: 'issued', issued, pending: undefined }),
    wakeAtMs: Math.max(beginRefreshAtMs, nowMs + minRenewalMs),
  };
}

/** Without headers and text between the blocks. Upstream: cleanCertificateChain. */
function cleanChain(chain: string): string {
  return pemBlocks(chain).map(certificatePem).join('');
}

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message };
}
