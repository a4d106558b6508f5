// Decides when a certificate is rotated and whether it has expired. Pure: time and jitter are parameters.
// Upstream: client-go/util/certificate/certificate_manager.go (nextRotationDeadline, certSatisfiesTemplate).
import type { CertificateFacts, CertificateTemplate } from '../api/ports/certificates.ts';

type Rotation =
  | { readonly rotate: 'now'; readonly reason: string }
  | { readonly rotate: 'later'; readonly atMs: number };

/** Rotation happens after 70 to 90 % of the lifetime, so that nodes that joined together do not rotate together. */
const earliest = 0.7;
const spread = 0.2;

interface RotationInput {
  readonly facts: CertificateFacts | undefined;
  /** What would be requested; undefined while it is unknown. */
  readonly template: CertificateTemplate | undefined;
  /** 0 to 1: where in the rotation window this certificate is rotated. Drawn once per certificate. */
  readonly jitter: number;
  readonly nowMs: number;
}

export function computeRotation({ facts, template, jitter, nowMs }: RotationInput): Rotation {
  if (facts === undefined) return { rotate: 'now', reason: 'there is no certificate' };
  const mismatch = template === undefined ? undefined : templateMismatch(facts, template);
  if (mismatch !== undefined) return { rotate: 'now', reason: mismatch };
  const atMs = rotationMs(facts, jitter);
  return atMs > nowMs ? { rotate: 'later', atMs } : { rotate: 'now', reason: 'most of its lifetime is over' };
}

function rotationMs({ notAfterMs, notBeforeMs }: CertificateFacts, jitter: number): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (earliest + spread * jitter);
}

/** What the template has and the certificate lacks. Additional names in the certificate are accepted. */
export function templateMismatch(facts: CertificateFacts, template: CertificateTemplate): string | undefined {
  if (facts.commonName !== template.commonName) {
    return `it is for ${facts.commonName}, not for ${template.commonName}`;
  }
  const missing = (actual: readonly string[], required: readonly string[]): string =>
    required.filter((each) => !actual.includes(each)).join(', ');
  const lists = [
    ['the DNS name', missing(facts.dnsNames, template.dnsNames)],
    ['the address', missing(facts.ips, template.ips)],
    ['the organization', missing(facts.organizations, template.organizations)],
  ] as const;
  const found = lists.find(([, list]) => list !== '');
  return found && `it lacks ${found[0]} ${found[1]}`;
}

/** A certificate that is not valid yet has not expired: a slow clock is corrected sooner than a new certificate would help. */
export function isExpired({ notAfterMs }: CertificateFacts, nowMs: number): boolean {
  return nowMs > notAfterMs;
}

type ClockDoubt = 'not-yet-valid' | 'expired-when-issued';

/** Why a certificate that was just issued is not valid by the clock of this machine. */
export function doubtClock(facts: CertificateFacts, nowMs: number): ClockDoubt | undefined {
  if (nowMs < facts.notBeforeMs) return 'not-yet-valid';
  return isExpired(facts, nowMs) ? 'expired-when-issued' : undefined;
}
