import { expect, test } from 'vitest';
import type { CertificateSigningRequest } from '../api/k8s/types.ts';
import {
  clientSigner,
  clientTemplate,
  clockSkewSeconds,
  isSameRequest,
  judgeRequest,
  requestName,
  servingSigner,
  servingTemplate,
  usagesOf,
} from './certificate-request.ts';

const templates = [
  ['none without addresses', [], false, undefined],
  ['none with only a DNS name', [{ type: 'Hostname', address: 'n' }], false, undefined],
  [
    'only a DNS name if that is allowed',
    [{ type: 'Hostname', address: 'n' }],
    true,
    { dnsNames: ['n'], ips: [] },
  ],
  [
    'addresses and names, deduplicated and sorted',
    [
      { type: 'InternalIP', address: '192.0.2.2' },
      { type: 'ExternalIP', address: '192.0.2.2' },
      { type: 'InternalIP', address: '2001:DB8:0::1' },
      { type: 'Hostname', address: 'n' },
      { type: 'InternalDNS', address: 'b.example' },
      { type: 'ExternalDNS', address: 'a.example' },
    ],
    false,
    { dnsNames: ['a.example', 'b.example', 'n'], ips: ['192.0.2.2', '2001:db8::1'] },
  ],
  [
    'a host name that is an IP address',
    [{ type: 'Hostname', address: '192.0.2.2' }],
    false,
    { dnsNames: [], ips: ['192.0.2.2'] },
  ],
  [
    'none with empty or invalid addresses',
    [
      { type: 'InternalIP', address: '' },
      { type: 'ExternalIP', address: 'x' },
    ],
    true,
    undefined,
  ],
] as const;

for (const [name, addresses, dnsOnly, want] of templates)
  test(`servingTemplate: ${name}`, () => {
    const template = servingTemplate('n', addresses, dnsOnly);
    expect(template).toEqual(want && { ...clientTemplate('n'), ...want });
  });

test('usagesOf: adds key encipherment for RSA keys', () => {
  expect(usagesOf(clientSigner, 'ec')).toEqual(['digital signature', 'client auth']);
  expect(usagesOf(clientSigner, 'rsa')).toEqual(['digital signature', 'client auth', 'key encipherment']);
  expect(usagesOf(servingSigner, 'ec')).toEqual(['digital signature', 'server auth']);
});

test('requestName: depends on key, subject and usages', () => {
  const key = Buffer.from('key');
  const usages = usagesOf(clientSigner, 'ec');
  const name = requestName(key, clientTemplate('n'), usages);
  expect(name).toMatch(/^node-csr-[\w-]{43}$/);
  expect(requestName(key, clientTemplate('n'), usages)).toBe(name);
  const others = [
    requestName(Buffer.from('kez'), clientTemplate('n'), usages),
    requestName(key, clientTemplate('m'), usages),
    requestName(key, clientTemplate('n'), usagesOf(clientSigner, 'rsa')),
  ];
  expect(others).not.toContain(name);
});

function csr(status: CertificateSigningRequest['status'], uid = 'u'): CertificateSigningRequest {
  return {
    metadata: { name: 'csr-1', uid, creationTimestamp: '2026-11-17T02:00:10Z' },
    spec: { request: '', signerName: clientSigner, usages: ['client auth', 'digital signature'] },
    ...(status === undefined ? {} : { status }),
  };
}

const condition = (type: string) => ({ type, status: 'True', reason: 'R', message: 'M' });
const verdicts = [
  ['new', csr({}), { state: 'pending', approved: false }],
  [
    'approved, not issued',
    csr({ conditions: [condition('Approved')] }),
    { state: 'pending', approved: true },
  ],
  ['issued, not approved', csr({ certificate: 'Yw==' }), { state: 'pending', approved: false }],
  [
    'issued',
    csr({ conditions: [condition('Approved')], certificate: 'Yw==' }),
    { state: 'issued', certPem: 'c' },
  ],
  ['denied', csr({ conditions: [condition('Denied')] }), /csr-1 is denied, reason: R, message: M$/],
  [
    'approved and failed',
    csr({ conditions: [condition('Approved'), condition('Failed')] }),
    /csr-1 failed, reason: R, message: M$/,
  ],
  ['replaced by another of the same name', csr({}, 'v'), /was replaced/],
] as const;

for (const [name, object, want] of verdicts)
  test(`judgeRequest: ${name}`, () => {
    const verdict = judgeRequest(object, 'u');
    if (want instanceof RegExp)
      expect(verdict).toMatchObject({ state: 'rejected', err: { message: expect.stringMatching(want) } });
    else expect(verdict).toEqual(want);
  });

test('isSameRequest: compares signer and usages', () => {
  const same = { signerName: clientSigner, usages: ['digital signature', 'client auth'] };
  expect(isSameRequest(csr({}), same)).toBe(true);
  expect(isSameRequest(csr({}), { ...same, signerName: servingSigner })).toBe(false);
  expect(isSameRequest(csr({}), { ...same, usages: ['client auth'] })).toBe(false);
});

test('clockSkewSeconds: is derived from the creation timestamp', () => {
  expect(clockSkewSeconds(csr({}), Date.UTC(2026, 10, 17, 2, 0, 0))).toBe(10);
});
