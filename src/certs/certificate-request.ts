// The contents of a certificate signing request, and the meaning of its status. Pure.
// Upstream: pkg/kubelet/certificate/kubelet.go, pkg/kubelet/certificate/bootstrap, client-go/util/certificate/csr.
import { createHash } from 'node:crypto';
import { parseIp } from '../api/k8s/ip-address.ts';
import type { CertificateSigningRequest, NodeAddress } from '../api/k8s/types.ts';
import type { CertificateTemplate } from '../api/ports/certificates.ts';
import { KubeletError } from '../base/errors.ts';

export const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
export const servingSigner = 'kubernetes.io/kubelet-serving';

export function clientTemplate(nodeName: string): CertificateTemplate {
  return {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    dnsNames: [],
    ips: [],
  };
}

/** Undefined while the node has no IP address; with `dnsOnly` a DNS name is enough. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
  dnsOnly: boolean,
): CertificateTemplate | undefined {
  const dnsNames = new Set<string>();
  const ips = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === '') continue;
    const ip = parseIp(address)?.text;
    if (type.endsWith('DNS') || (type === 'Hostname' && ip === undefined)) dnsNames.add(address);
    else if (ip !== undefined) ips.add(ip);
  }
  if (ips.size === 0 && !(dnsOnly && dnsNames.size > 0)) return undefined;
  return { ...clientTemplate(nodeName), dnsNames: [...dnsNames].toSorted(), ips: [...ips].toSorted() };
}

/** Key encipherment applies to RSA keys only. */
export function usagesOf(signerName: string, keyKind: 'ec' | 'rsa'): readonly string[] {
  const purpose = signerName === servingSigner ? 'server auth' : 'client auth';
  return ['digital signature', purpose, ...(keyKind === 'rsa' ? ['key encipherment'] : [])];
}

/**
 * The name of a bootstrap request, derived from its contents: a kubelet that restarts while its request is pending finds that
 * request instead of creating another one.
 */
export function requestName(
  publicKeyDer: Uint8Array,
  { commonName, organizations }: CertificateTemplate,
  usages: readonly string[],
): string {
  const hash = createHash('sha512-256');
  const parts = [publicKeyDer, commonName, ...organizations, ...usages];
  for (const part of parts) hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

export function sameTemplate(
  a: CertificateTemplate | undefined,
  b: CertificateTemplate | undefined,
): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

type Verdict =
  | { readonly state: 'pending'; readonly approved: boolean }
  | { readonly state: 'issued'; readonly certPem: string }
  | { readonly state: 'rejected'; readonly err: KubeletError };

/** The state of the request that was created with this UID. */
export function judgeRequest(csr: CertificateSigningRequest, uid: string | undefined): Verdict {
  const name = csr.metadata?.name ?? '';
  if (csr.metadata?.uid !== uid) {
    return rejected(
      'CertificateRequestReplaced',
      `certificate signing request ${name} was replaced by another`,
    );
  }
  const conditions = csr.status?.conditions ?? [];
  for (const { type, reason, message } of conditions) {
    const details = `reason: ${reason ?? ''}, message: ${message ?? ''}`;
    if (type === 'Denied') {
      return rejected('CertificateDenied', `certificate signing request ${name} is denied, ${details}`);
    }
    if (type === 'Failed') {
      return rejected('CertificateFailed', `certificate signing request ${name} failed, ${details}`);
    }
  }
  const approved = conditions.some(({ type }) => type === 'Approved');
  const issued = csr.status?.certificate;
  if (!approved || issued === undefined || issued === '') return { state: 'pending', approved };
  return { state: 'issued', certPem: Buffer.from(issued, 'base64').toString('utf8') };
}

export function requestGone(name: string): KubeletError {
  return new KubeletError(
    'not-found',
    'CertificateRequestDeleted',
    `certificate signing request ${name} was deleted`,
  );
}

function rejected(reason: string, message: string): Verdict {
  return { state: 'rejected', err: new KubeletError('forbidden', reason, message) };
}

/** How far the API server's clock is ahead of this machine's, in seconds, judged by the creation timestamp. */
export function clockSkewSeconds(csr: CertificateSigningRequest, nowMs: number): number {
  const created = csr.metadata?.creationTimestamp;
  return created === undefined ? 0 : Math.round((Date.parse(created) - nowMs) / 1000);
}

/** Whether an existing request with the same name has the same signer and usages. */
export function isSameRequest(
  found: CertificateSigningRequest,
  { signerName, usages }: { readonly signerName: string; readonly usages: readonly string[] },
): boolean {
  const existing: readonly string[] = found.spec.usages ?? [];
  return (
    found.spec.signerName === signerName &&
    existing.length === usages.length &&
    usages.every((usage) => existing.includes(usage))
  );
}
