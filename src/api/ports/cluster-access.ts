// How the API server is reached and authenticated to, as a kubeconfig describes it. Types only.
// Invariant: keys, tokens and passwords are Secrets, so that none of them ends up in a log.
import type { Subscribable } from '../../base/channel.ts';
import type { Secret } from '../../base/log/secret.ts';
import type { CertificatePair } from './certificates.ts';

/** PEM in the kubeconfig itself, or a file that is read again when it changes. */
export type Material = { readonly pem: Secret } | { readonly file: string };

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
}

/** A client certificate that is issued and rotated while the kubelet runs. */
interface LiveCertificate {
  pair(): CertificatePair | undefined;
  readonly changed: Subscribable<void>;
}

export interface ClusterAccess {
  /** http or https, with the path prefix of all requests. */
  readonly server: URL;
  readonly ca: Material | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName: string | undefined;
  readonly proxyUrl: URL | undefined;
  readonly clientCertificate: { readonly cert: Material; readonly key: Material } | undefined;
  /** Takes precedence over `clientCertificate`. Requests wait until the first certificate is issued. */
  readonly live?: LiveCertificate | undefined;
  readonly token: Secret | undefined;
  /** Takes precedence over `token`. */
  readonly tokenFile: string | undefined;
  readonly basic: Secret | undefined;
  readonly exec: ExecPlugin | undefined;
  readonly impersonate: { readonly user: string; readonly groups: readonly string[] } | undefined;
}
