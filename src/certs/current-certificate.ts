// A certificate pair in the form that a TLS server takes.
import type { CertificatePair } from '../api/ports/certificates.ts';

export interface CertificateView {
  readonly certPem: string;
  readonly keyPem: string;
}

export function servingView(pair: CertificatePair | undefined): CertificateView | undefined {
  return pair && { certPem: pair.certPem, keyPem: pair.key.reveal() };
}
