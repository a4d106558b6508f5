// Decides what becomes of the pair in --cert-dir that nobody named. Pure. Upstream: InitializeTLS in cmd/kubelet/app/server.go.
import type { CertificateFacts } from '../api/ports/certificates.ts';
import { computeRotation, isExpired } from './rotation.ts';

type SelfSignedStep =
  | { readonly do: 'make'; readonly why: string }
  /** `renewAtMs` is undefined for a pair that somebody else put there. */
  | { readonly do: 'use'; readonly renewAtMs: number | undefined };

export interface FoundPair {
  /** Undefined when there is none, or none that can be used. */
  readonly facts: CertificateFacts | undefined;
  readonly why: string;
}

/**
 * differs from upstream, which goes on with an expired pair and does not start when only one file of it is there, as a crash
 * between the two leaves it.
 */
export function computeSelfSigned({ facts, why }: FoundPair, chance: number, nowMs: number): SelfSignedStep {
  if (facts === undefined) return { do: 'make', why };
  if (!isOwnMake(facts)) return { do: 'use', renewAtMs: undefined };
  if (isExpired(facts, nowMs)) return { do: 'make', why: 'it has expired' };
  const rotation = computeRotation({ facts, template: undefined, chance, nowMs });
  return rotation.rotate === 'now'
    ? { do: 'make', why: rotation.why }
    : { do: 'use', renewAtMs: rotation.atMs };
}

/** As kubelets name the certificates they sign themselves: the host, its authority, and the second of their making. */
function isOwnMake({ commonName, issuer }: CertificateFacts): boolean {
  return /@\d+$/.test(commonName) && /-ca@\d+$/.test(issuer);
}
