// Certificates as features use them: request template, parsed content, and the pair with its key. Types only.
// Invariant: a key is a Secret except where it is handed to TLS or written to a file.
import type { Channel } from '../../base/channel.ts';
import type { Secret } from '../../base/log/secret.ts';

/** The content of a certificate signing request. */
export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In canonical form. */
  readonly ips: readonly string[];
}

/** The content of a certificate. */
export interface CertificateFacts extends CertificateTemplate {
  readonly issuer: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface CertificatePair {
  /** The leaf certificate, followed by its intermediates. */
  readonly certPem: string;
  readonly key: Secret;
  readonly facts: CertificateFacts;
}

/** The current certificate of a TLS server. */
export interface ServingCertificate {
  /** Undefined while there is none: TLS handshakes fail until then. */
  current(): { readonly certPem: string; readonly keyPem: string } | undefined;
  /** Announces a new certificate, for new connections. */
  readonly changed: Pick<Channel<void>, 'subscribe'>;
}
