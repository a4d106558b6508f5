// Certificates as features speak of them: what one says, what one is asked for, and the pair that proves it. Types only.
// Invariant: a key is a Secret wherever it is not about to be given to TLS or to a file.
import type { Channel } from '../../base/channel.ts';
import type { Secret } from '../../base/log/secret.ts';

/** What is asked for. */
export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In their canonical form. */
  readonly ips: readonly string[];
}

/** What a certificate says. */
export interface CertificateFacts extends CertificateTemplate {
  readonly issuer: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface CertificatePair {
  /** The certificate first, then those that lead to its authority. */
  readonly certPem: string;
  readonly key: Secret;
  readonly facts: CertificateFacts;
}

/** What a TLS server shows of itself, as it is now. */
export interface ServingCertificate {
  /** Undefined while there is none: then nobody can connect. */
  current(): { readonly certPem: string; readonly keyPem: string } | undefined;
  /** There is another one, for connections from now on. */
  readonly changed: Pick<Channel<void>, 'subscribe'>;
}
