// Decides when a certificate is to be replaced, and whether it can still be used. Pure: time and chance are brought along.
// Upstream: client-go/util/certificate/certificate_manager.go (nextRotationDeadline, certSatisfiesTemplate).
import type { CertificateFacts, CertificateTemplate } from '../api/ports/certificates.ts';

type Rotation =
  | { readonly rotate: 'now'; readonly why: string }
  | { readonly rotate: 'later'; readonly atMs: number };

/** Of the lifetime: not all nodes that were made together are to ask together. */
const earliest = 0.7;
const spreadOver = 0.2;

interface RotationInput {
  readonly facts: CertificateFacts | undefined;
  /** What would be asked for; undefined while that is not known. */
  readonly template: CertificateTemplate | undefined;
  /** 0 to 1: where in the span this certificate's moment lies. Drawn once per certificate. */
  readonly chance: number;
  readonly nowMs: number;
}

export function computeRotation({ facts, template, chance, nowMs }: RotationInput): Rotation {
  if (facts === undefined) return { rotate: 'now', why: 'there is no certificate' };
  const lacking = template === undefined ? undefined : whatLacks(facts, template);
  if (lacking !== undefined) return { rotate: 'now', why: lacking };
  const atMs = rotationMs(facts, chance);
  return atMs > nowMs ? { rotate: 'later', atMs } : { rotate: 'now', why: 'most of its lifetime is over' };
}

function rotationMs({ notAfterMs, notBeforeMs }: CertificateFacts, chance: number): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (earliest + spreadOver * chance);
}

/** What the template wants and the certificate does not say. That it says more is no reason to replace it. */
export function whatLacks(facts: CertificateFacts, template: CertificateTemplate): string | undefined {
  if (facts.commonName !== template.commonName) {
    return `it is for ${facts.commonName}, not for ${template.commonName}`;
  }
  const missing = (have: readonly string[], want: readonly string[]): string =>
    want.filter((each) => !have.includes(each)).join(', ');
  const lists = [
    ['the DNS name', missing(facts.dnsNames, template.dnsNames)],
    ['the address', missing(facts.ips, template.ips)],
    ['the organization', missing(facts.organizations, template.organizations)],
  ] as const;
  const found = lists.find(([, list]) => list !== '');
  return found && `it lacks ${found[0]} ${found[1]}`;
}

/** A certificate that is not valid yet counts: a clock that is behind comes right before a new one would help. */
export function isExpired({ notAfterMs }: CertificateFacts, nowMs: number): boolean {
  return nowMs > notAfterMs;
}

type ClockDoubt = 'not-yet-valid' | 'expired-when-issued';

/** Why a certificate that was just issued cannot be right by this machine's clock. */
export function doubtClock(facts: CertificateFacts, nowMs: number): ClockDoubt | undefined {
  if (nowMs < facts.notBeforeMs) return 'not-yet-valid';
  return isExpired(facts, nowMs) ? 'expired-when-issued' : undefined;
}
