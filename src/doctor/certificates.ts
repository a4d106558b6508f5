// Judges kubeconfigs and certificates: readable, valid now, and for how many days. Pure.
import type { CertificateFacts } from '../api/ports/certificates.ts';
import type { CertificateFile, ClusterFacts, DoctorSettings, ServingFacts } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';
import { dateText, daysBetween, spanText } from './units.ts';

/** Of the lifetime. The kubelet renews a certificate when between 30 % and 10 % of it are left. */
const overdueFraction = 0.08;

/** A certificate that nothing renews is worth a warning this long before its end. */
const warnDays = 14;

export function judgeKubeconfig(cluster: Fact<ClusterFacts>): Finding {
  if (!cluster.isKnown && isForbidden(cluster.why)) return warn(cluster.why, 'run as root');
  if (!cluster.isKnown)
    return fail(cluster.why, 'correct --kubeconfig, or join the cluster again with --bootstrap-kubeconfig');
  const { credentials, isInsecure, path, server, source } = cluster.value;
  if (source === 'standalone') return ok('none: standalone mode, static pods only');
  if (credentials === 'none')
    return fail(`${path} has no credentials`, 'add a client certificate or a token to its user');
  if (isInsecure)
    return warn(
      `${path} does not verify the certificate of ${server}`,
      'remove insecure-skip-tls-verify and set certificate-authority',
    );
  return ok(source === 'kubeconfig' ? `${path} for ${server}` : `the kubelet joins ${server} with ${path}`);
}

/** The kubelet runs as root and can read it. */
function isForbidden(why: string): boolean {
  return /\b(EACCES|EPERM)\b/.test(why);
}

interface ClientContext extends Pick<DoctorSettings, 'rotateCertificates'> {
  readonly nodeName: string;
  /** Whether it only serves to request the certificate of the node. */
  readonly isBootstrap: boolean;
}

export function judgeClientCertificate(
  file: CertificateFile,
  nowMs: number,
  { isBootstrap, nodeName, rotateCertificates }: ClientContext,
): Finding {
  const again = 'join the cluster again: --bootstrap-kubeconfig with a new token';
  if (file.state !== 'found') return judgeFile(file, 'no client certificate', again);
  const [leaf] = file.certificates;
  if (leaf === undefined) return fail(`${file.where} has no certificate`, again);
  const validity = judgeValidity(leaf, nowMs, file.where, {
    expired: again,
    isRenewed: rotateCertificates && !isBootstrap,
    soon: 'set rotateCertificates: true, or replace the certificate',
  });
  if (validity.status !== 'ok' || isBootstrap) return validity;
  const { commonName, organizations } = leaf;
  const user = `system:node:${nodeName}`;
  if (commonName !== user || !organizations.includes('system:nodes'))
    return warn(
      `it is for ${commonName} of ${organizations.join(', ') || 'no group'}, not for ${user} of system:nodes, so the API server's Node authorizer does not admit it`,
      'correct --hostname-override, or join the cluster again as this node',
    );
  return validity;
}

/** A bundle: one usable certificate is enough, as for TLS. */
export function judgeAuthority(file: CertificateFile, nowMs: number, setting: string): Finding {
  const fix = `set ${setting} to a bundle of certificates in PEM`;
  if (file.state !== 'found') return judgeFile(file, 'not set', fix);
  const { certificates, where } = file;
  if (certificates.length === 0) return fail(`${where} has no certificate`, fix);
  const expired = certificates.filter(({ notAfterMs }) => notAfterMs < nowMs);
  const count = `${certificates.length} certificate${certificates.length === 1 ? '' : 's'}`;
  if (expired.length === certificates.length)
    return fail(`${where}: every authority has expired, the last on ${dateText(latest(certificates))}`, fix);
  if (expired.length > 0)
    return warn(`${where}: ${expired.length} of ${count} have expired`, 'remove the expired ones');
  return ok(`${where}: ${count}, valid until ${dateText(latest(certificates))}`);
}

function latest(certificates: readonly CertificateFacts[]): number {
  return Math.max(...certificates.map(({ notAfterMs }) => notAfterMs));
}

export function judgeServing({ file, kind }: ServingFacts, nowMs: number): Finding {
  if (file.state === 'missing' && kind !== 'set')
    return ok(
      kind === 'requested'
        ? 'none yet: the kubelet requests it from the API server, where it has to be approved'
        : 'none yet: the kubelet creates a self-signed one',
    );
  const fixes = {
    set: 'correct tlsCertFile and tlsPrivateKeyFile',
    requested: 'approve the request of the kubelet: kubectl get csr, kubectl certificate approve NAME',
    'self-signed': 'remove the file and restart the kubelet, which then creates another one',
  };
  const fix = fixes[kind];
  if (file.state !== 'found') return judgeFile(file, 'none', fix);
  const [leaf] = file.certificates;
  if (leaf === undefined) return fail(`${file.where} has no certificate`, fix);
  return judgeValidity(leaf, nowMs, file.where, {
    expired: fix,
    isRenewed: kind === 'requested',
    soon: 'replace the certificate',
  });
}

function judgeFile(file: Exclude<CertificateFile, { state: 'found' }>, none: string, fix: string): Finding {
  if (file.state === 'none') return ok(none);
  if (isForbidden(file.problem)) return warn(`${file.where}: ${file.problem}`, 'run as root');
  return fail(`${file.where}: ${file.problem}`, fix);
}

interface ValidityFixes {
  readonly expired: string;
  readonly soon: string;
  /** Whether the kubelet renews it in time. */
  readonly isRenewed: boolean;
}

function judgeValidity(
  { notAfterMs, notBeforeMs }: CertificateFacts,
  nowMs: number,
  where: string,
  fixes: ValidityFixes,
): Finding {
  if (nowMs < notBeforeMs)
    return fail(
      `${where} is valid only from ${dateText(notBeforeMs)}, in ${spanText(notBeforeMs - nowMs)}`,
      'correct the clock of this machine',
    );
  if (nowMs > notAfterMs)
    return fail(
      `${where} has expired on ${dateText(notAfterMs)}, ${spanText(nowMs - notAfterMs)} ago`,
      fixes.expired,
    );
  const left = `${where} is valid for ${spanText(notAfterMs - nowMs)}, until ${dateText(notAfterMs)}`;
  if (fixes.isRenewed)
    return (notAfterMs - nowMs) / (notAfterMs - notBeforeMs) > overdueFraction
      ? ok(left)
      : warn(
          `${left}, and the kubelet should have renewed it by now`,
          'approve its request (kubectl get csr), and read the log of the kubelet',
        );
  return daysBetween(nowMs, notAfterMs) >= warnDays ? ok(left) : warn(left, fixes.soon);
}
