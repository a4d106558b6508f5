// What a kubelet asks the cluster to sign, and what the answer means. Pure.
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

/** Undefined while there is no address to ask for; with `dnsOnly` a name is enough. */
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

/** With an RSA key the session's key may be encrypted with it; with others nothing ever is. */
export function usagesOf(signerName: string, keyKind: 'ec' | 'rsa'): readonly string[] {
  const purpose = signerName === servingSigner ? 'server auth' : 'client auth';
  return ['digital signature', purpose, ...(keyKind === 'rsa' ? ['key encipherment'] : [])];
}

/**
 * The name of a bootstrap request, from all that it asks for: a kubelet that starts again while its request waits for
 * approval finds that request instead of making another one.
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
  | { readonly is: 'waiting'; readonly approved: boolean }
  | { readonly is: 'issued'; readonly certPem: string }
  | { readonly is: 'refused'; readonly err: KubeletError };

/** What has become of the request that was made with this UID. */
export function judgeRequest(csr: CertificateSigningRequest, uid: string | undefined): Verdict {
  const name = csr.metadata?.name ?? '';
  if (csr.metadata?.uid !== uid) {
    return refused(
      'CertificateRequestReplaced',
      `certificate signing request ${name} was replaced by another`,
    );
  }
  const conditions = csr.status?.conditions ?? [];
  for (const { type, reason, message } of conditions) {
    const why = `reason: ${reason ?? ''}, message: ${message ?? ''}`;
    if (type === 'Denied') {
      return refused('CertificateDenied', `certificate signing request ${name} is denied, ${why}`);
    }
    if (type === 'Failed') {
      return refused('CertificateFailed', `certificate signing request ${name} failed, ${why}`);
    }
  }
  const approved = conditions.some(({ type }) => type === 'Approved');
  const issued = csr.status?.certificate;
  if (!approved || issued === undefined || issued === '') return { is: 'waiting', approved };
  return { is: 'issued', certPem: Buffer.from(issued, 'base64').toString('utf8') };
}

export function requestGone(name: string): KubeletError {
  return new KubeletError(
    'not-found',
    'CertificateRequestDeleted',
    `certificate signing request ${name} was deleted`,
  );
}

function refused(reason: string, message: string): Verdict {
  return { is: 'refused', err: new KubeletError('forbidden', reason, message) };
}

/** How far the server's clock is ahead of ours, in seconds, by when it says that it made the object. */
export function clockSkewSeconds(csr: CertificateSigningRequest, nowMs: number): number {
  const made = csr.metadata?.creationTimestamp;
  return made === undefined ? 0 : Math.round((Date.parse(made) - nowMs) / 1000);
}

/** Whether a request with our name, found on the server, asks for what we would ask for. */
export function isSameRequest(
  found: CertificateSigningRequest,
  { signerName, usages }: { readonly signerName: string; readonly usages: readonly string[] },
): boolean {
  const theirs: readonly string[] = found.spec.usages ?? [];
  return (
    found.spec.signerName === signerName &&
    theirs.length === usages.length &&
    usages.every((usage) => theirs.includes(usage))
  );
}
