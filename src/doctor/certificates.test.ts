import { describe, expect, test } from 'vitest';
import type { CertificateFacts } from '../api/ports/certificates.ts';
import { judgeAuthority, judgeClientCertificate, judgeKubeconfig, judgeServing } from './certificates.ts';
import type { CertificateFile, ClusterFacts } from './facts.ts';

const day = 24 * 60 * 60 * 1000;
const now = Date.parse('2026-06-15T12:00:00Z');

function certificate(
  fromDays: number,
  toDays: number,
  over: Partial<CertificateFacts> = {},
): CertificateFacts {
  return {
    commonName: 'system:node:n1',
    organizations: ['system:nodes'],
    dnsNames: [],
    ips: [],
    issuer: 'ca',
    notBeforeMs: now + fromDays * day,
    notAfterMs: now + toDays * day,
    ...over,
  };
}

function found(...certificates: readonly CertificateFacts[]): CertificateFile {
  return { state: 'found', where: '/pki/c.pem', certificates };
}

const missing: CertificateFile = { state: 'missing', where: '/pki/c.pem', problem: 'ENOENT' };
const invalid: CertificateFile = {
  state: 'invalid',
  where: '/pki/c.pem',
  problem: 'its key is of another one',
};

describe('judgeClientCertificate', () => {
  const cases = [
    ['none', { state: 'none' }, true, 'ok', 'no client certificate'],
    ['missing', missing, true, 'fail', '/pki/c.pem: ENOENT'],
    ['invalid', invalid, true, 'fail', 'its key is of another one'],
    ['empty', found(), true, 'fail', 'has no certificate'],
    ['valid', found(certificate(-1, 200)), false, 'ok', 'valid for 200 days, until 2027-01-01'],
    ['ends soon, rotated', found(certificate(-30, 5)), true, 'ok', 'valid for 5 days'],
    ['ends soon, rotation overdue', found(certificate(-300, 5)), true, 'warn', 'should have renewed it'],
    ['ends soon, not rotated', found(certificate(-300, 5)), false, 'warn', 'valid for 5 days'],
    ['expired', found(certificate(-300, -3)), true, 'fail', 'has expired on 2026-06-12, 3 days ago'],
    ['not valid yet', found(certificate(2, 300)), true, 'fail', 'valid only from 2026-06-17'],
    [
      'another node',
      found(certificate(-1, 200, { commonName: 'system:node:n2' })),
      true,
      'warn',
      'not for system:node:n1',
    ],
    ['no group', found(certificate(-1, 200, { organizations: [] })), true, 'warn', 'no group'],
  ] as const satisfies readonly (readonly [string, CertificateFile, boolean, string, string])[];
  for (const [name, file, rotateCertificates, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const context = { rotateCertificates, nodeName: 'n1', isBootstrap: false };
      const finding = judgeClientCertificate(file, now, context);
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
});

test('a certificate of the bootstrap kubeconfig is not that of a node', () => {
  const file = found(certificate(-1, 200, { commonName: 'system:bootstrap:abc' }));
  const context = { rotateCertificates: true, nodeName: 'n1', isBootstrap: true };
  expect(judgeClientCertificate(file, now, context).status).toBe('ok');
});

describe('judgeAuthority', () => {
  const cases = [
    ['none', { state: 'none' }, 'ok', 'not set'],
    ['missing', missing, 'fail', 'ENOENT'],
    ['empty', found(), 'fail', 'has no certificate'],
    ['valid', found(certificate(-1, 200)), 'ok', '1 certificate, valid until 2027-01-01'],
    [
      'one of two expired',
      found(certificate(-1, 200), certificate(-9, -1)),
      'warn',
      '1 of 2 certificates have expired',
    ],
    [
      'all expired',
      found(certificate(-9, -1)),
      'fail',
      'every authority has expired, the last on 2026-06-14',
    ],
  ] as const satisfies readonly (readonly [string, CertificateFile, string, string])[];
  for (const [name, file, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgeAuthority(file, now, 'clientCAFile');
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
});

describe('judgeServing', () => {
  const cases = [
    ['requested, none yet', 'requested', missing, 'ok', 'approved'],
    ['self-signed, none yet', 'self-signed', missing, 'ok', 'self-signed'],
    ['set and missing', 'set', missing, 'fail', 'ENOENT'],
    ['invalid', 'self-signed', invalid, 'fail', 'another one'],
    ['set and expired', 'set', found(certificate(-9, -1)), 'fail', 'has expired'],
    ['set and nearly expired', 'set', found(certificate(-9, 1)), 'warn', 'valid for'],
    ['requested and nearly expired: rotated', 'requested', found(certificate(-9, 1)), 'ok', 'valid for'],
    [
      'requested and not approved',
      'requested',
      found(certificate(-300, 5)),
      'warn',
      'should have renewed it',
    ],
  ] as const satisfies readonly (readonly [
    string,
    'set' | 'requested' | 'self-signed',
    CertificateFile,
    string,
    string,
  ])[];
  for (const [name, kind, file, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgeServing({ kind, file }, now);
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
});

describe('judgeKubeconfig', () => {
  const cluster: ClusterFacts = {
    source: 'kubeconfig',
    path: '/etc/kubelet.conf',
    server: 'https://api:6443/',
    isInsecure: false,
    credentials: 'certificate',
  };
  const cases = [
    ['standalone', { source: 'standalone', credentials: 'none' }, 'ok', 'standalone'],
    ['kubeconfig', {}, 'ok', '/etc/kubelet.conf for https://api:6443/'],
    ['bootstrap', { source: 'bootstrap' }, 'ok', 'joins https://api:6443/ with'],
    ['no credentials', { credentials: 'none' }, 'fail', 'has no credentials'],
    ['insecure', { isInsecure: true }, 'warn', 'does not verify'],
  ] as const;
  for (const [name, over, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgeKubeconfig({ isKnown: true, value: { ...cluster, ...over } });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('a file that only root can read → warn', () => {
    const why = "EACCES: permission denied, open '/etc/kubelet.conf'";
    const key: CertificateFile = { ...invalid, problem: why };
    const context = { rotateCertificates: true, nodeName: 'n1', isBootstrap: false };
    for (const finding of [
      judgeKubeconfig({ isKnown: false, why }),
      judgeClientCertificate(key, now, context),
      judgeServing({ kind: 'set', file: key }, now),
    ])
      expect(finding).toMatchObject({ status: 'warn', fix: 'run as root' });
  });
  test('a kubeconfig that cannot be read → fail', () =>
    expect(judgeKubeconfig({ isKnown: false, why: 'cannot read it' })).toMatchObject({
      status: 'fail',
      finding: 'cannot read it',
    }));
});
