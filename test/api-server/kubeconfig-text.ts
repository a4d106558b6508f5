// Kubeconfigs for a double on a port.
import type { HttpFront } from './http-front.ts';
import type { KeyPair, TestAuthority } from './pki.ts';

export interface KubeconfigOptions {
  readonly front: Pick<HttpFront, 'url'>;
  readonly authority?: TestAuthority | undefined;
  readonly client?: KeyPair;
  readonly token?: string;
}

/** As JSON, which is valid YAML. */
export function kubeconfigText({ authority, client, front, token }: KubeconfigOptions): string {
  const data = (text: string): string => Buffer.from(text).toString('base64');
  const cluster = {
    server: front.url,
    ...(authority === undefined ? {} : { 'certificate-authority-data': data(authority.cert) }),
  };
  const user = {
    ...(client === undefined
      ? {}
      : { 'client-certificate-data': data(client.cert), 'client-key-data': data(client.key) }),
    ...(token === undefined ? {} : { token }),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'double', cluster }],
    users: [{ name: 'user', user }],
    contexts: [{ name: 'double', context: { cluster: 'double', user: 'user' } }],
    'current-context': 'double',
  });
}

export function nodeCertificate(authority: TestAuthority, name: string): KeyPair {
  return authority.issue({
    commonName: `system:node:${name}`,
    organizations: ['system:nodes'],
    usage: 'client',
  });
}

export function adminCertificate(authority: TestAuthority): KeyPair {
  return authority.issue({
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
}
