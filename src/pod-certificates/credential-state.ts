// The states of one podCertificate source, and what they mean to its volume and to the metric. Pure.
//
//   initial ──► waiting ──► issued ◄──► issued with a pending renewal
//                  │                       │
//                  └──► denied, failed ◄───┘
//
// Upstream: credState in pkg/kubelet/podcertificate.
import type { CredentialBundle } from '../api/ports/pod-certificates.ts';
import { KubeletError } from '../base/errors.ts';
import { goQuote } from '../base/log/log-value.ts';
import type { Secret } from '../base/log/secret.ts';

/** A PodCertificateRequest that was created and has no verdict yet. */
export interface PendingRequest {
  readonly key: Secret;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  /** A request that the watch has not reported by then was deleted. */
  readonly abandonAtMs: number;
}

export interface IssuedCertificate extends CredentialBundle {
  readonly issuedAtMs: number;
  /** With jitter. */
  readonly beginRefreshAtMs: number;
  readonly notAfterMs: number;
  readonly overdueReported: boolean;
  readonly expiryReported: boolean;
}

export type CredentialState =
  | { readonly is: 'initial' }
  | { readonly is: 'waiting'; readonly pending: PendingRequest }
  | {
      readonly is: 'issued';
      readonly issued: IssuedCertificate;
      /** The renewal; undefined until it is due. */
      readonly pending: PendingRequest | undefined;
    }
  /** Permanent: as long as the pod exists, no other request is created. */
  | { readonly is: 'denied' | 'failed'; readonly reason: string; readonly message: string };

export const initialState: CredentialState = { is: 'initial' };

/** How long after its planned renewal a certificate counts as overdue. */
export const overdueAfterMs = 10 * 60_000;

export function pendingOf(state: CredentialState): PendingRequest | undefined {
  return state.is === 'waiting' || state.is === 'issued' ? state.pending : undefined;
}

/** Throws upstream's errors while there is no bundle. */
export function bundleOf(state: CredentialState): CredentialBundle {
  switch (state.is) {
    case 'issued':
      return state.issued;
    case 'initial':
    case 'waiting':
      throw new KubeletError('unavailable', 'FailedMount', 'credential bundle is not issued yet');
    case 'denied':
    case 'failed': {
      const why = `reason=${goQuote(state.reason)} message=${goQuote(state.message)}`;
      const message = `PodCertificateRequest was permanently ${state.is}: ${why}`;
      throw new KubeletError('forbidden', 'FailedMount', message);
    }
  }
}

/** Whether a volume that was written in the first state has to be written again, or its error changed for good. */
export function isVisibleChange(before: CredentialState, after: CredentialState): boolean {
  if (after.is === 'issued') return before.is !== 'issued' || before.issued.key !== after.issued.key;
  return before.is !== after.is && (after.is === 'denied' || after.is === 'failed');
}

/** The label `state` of kubelet_podcertificate_states. */
export function stateLabel(state: CredentialState, nowMs: number): string {
  if (state.is === 'initial' || state.is === 'waiting') return 'not_yet_issued';
  if (state.is !== 'issued') return state.is;
  if (nowMs > state.issued.notAfterMs) return 'expired';
  return nowMs > state.issued.beginRefreshAtMs + overdueAfterMs ? 'overdue_for_refresh' : 'fresh';
}
