// A pair as a TLS server takes it.
import type { CertificatePair } from '../api/ports/certificates.ts';

export interface CertificateView {
  readonly certPem: string;
  readonly keyPem: string;
}

export function servingView(pair: CertificatePair | undefined): CertificateView | undefined {
  return pair && { certPem: pair.certPem, keyPem: pair.key.reveal() };
}
