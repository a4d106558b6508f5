// Decides whether the self-signed pair in --cert-dir is used or replaced. Pure. Upstream: InitializeTLS in cmd/kubelet/app/server.go.
import type { CertificateFacts } from '../api/ports/certificates.ts';
import { computeRotation, isExpired } from './rotation.ts';

type SelfSignedStep =
  | { readonly do: 'create'; readonly reason: string }
  /** `renewAtMs` is undefined for a pair that the kubelet did not create. */
  | { readonly do: 'use'; readonly renewAtMs: number | undefined };

export interface FoundPair {
  /** Undefined when there is no usable pair; `problem` is the reason. */
  readonly facts: CertificateFacts | undefined;
  readonly problem: string;
}

/**
 * differs from upstream, which keeps serving an expired pair, and fails to start when only one of the two files exists, as after
 * a crash between writing them.
 */
export function computeSelfSigned(
  { facts, problem }: FoundPair,
  jitter: number,
  nowMs: number,
): SelfSignedStep {
  if (facts === undefined) return { do: 'create', reason: problem };
  if (!isSelfSigned(facts)) return { do: 'use', renewAtMs: undefined };
  if (isExpired(facts, nowMs)) return { do: 'create', reason: 'it has expired' };
  const rotation = computeRotation({ facts, template: undefined, jitter, nowMs });
  return rotation.rotate === 'now'
    ? { do: 'create', reason: rotation.reason }
    : { do: 'use', renewAtMs: rotation.atMs };
}

/** By the names that kubelets give to self-signed certificates: the host, its CA, and the second of their creation. */
function isSelfSigned({ commonName, issuer }: CertificateFacts): boolean {
  return /@\d+$/.test(commonName) && /-ca@\d+$/.test(issuer);
}
