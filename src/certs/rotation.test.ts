import { expect, test } from 'vitest';
import type { CertificateFacts, CertificateTemplate } from '../api/ports/certificates.ts';
import { computeRotation, doubtClock, isExpired, templateMismatch } from './rotation.ts';

const facts: CertificateFacts = {
  commonName: 'system:node:n',
  organizations: ['system:nodes'],
  dnsNames: ['n'],
  ips: ['192.0.2.2'],
  issuer: 'ca',
  notBeforeMs: 1_000,
  notAfterMs: 2_000,
};
const template: CertificateTemplate = {
  commonName: 'system:node:n',
  organizations: ['system:nodes'],
  dnsNames: ['n'],
  ips: ['192.0.2.2'],
};

const rotations = [
  ['no certificate: now', { facts: undefined }, 'now'],
  ['at 70 % of the lifetime at the earliest', { jitter: 0 }, 1_700],
  ['before 90 % of the lifetime', { jitter: 0.9999 }, expect.closeTo(1_900, 0)],
  ['in the middle of the window', { jitter: 0.5 }, 1_800],
  ['just before it is due', { jitter: 0, nowMs: 1_699 }, 1_700],
  ['when it is due', { jitter: 0, nowMs: 1_700 }, 'now'],
  ['expired: now', { nowMs: 5_000 }, 'now'],
  ['not valid yet: later', { jitter: 0, nowMs: 10 }, 1_700],
  ['for another node: now', { template: { ...template, commonName: 'system:node:m' } }, 'now'],
  [
    'an additional address in the template: now',
    { template: { ...template, ips: ['192.0.2.2', '2001:db8::1'] } },
    'now',
  ],
  [
    'an additional address in the certificate: later',
    { jitter: 0, template: { ...template, ips: [] } },
    1_700,
  ],
  ['no template: later', { jitter: 0, template: undefined }, 1_700],
] as const;

for (const [name, over, want] of rotations)
  test(`computeRotation: ${name}`, () => {
    const rotation = computeRotation({ facts, template, jitter: 0.5, nowMs: 1_100, ...over });
    if (want === 'now') expect(rotation).toMatchObject({ rotate: 'now' });
    else expect(rotation).toEqual({ rotate: 'later', atMs: want });
  });

const mismatches = [
  ['nothing', {}, undefined],
  ['a DNS name', { dnsNames: ['n', 'n.example'] }, 'it lacks the DNS name n.example'],
  ['an address', { ips: ['192.0.2.3'] }, 'it lacks the address 192.0.2.3'],
  ['an organization', { organizations: ['system:masters'] }, 'it lacks the organization system:masters'],
] as const;

for (const [name, over, want] of mismatches)
  test(`templateMismatch: reports ${name}`, () =>
    expect(templateMismatch(facts, { ...template, ...over })).toBe(want));

test('isExpired: only after notAfter', () => {
  expect([1_999, 2_000, 2_001].map((nowMs) => isExpired(facts, nowMs))).toEqual([false, false, true]);
});

test('doubtClock: reports a new certificate that is not valid by the clock', () => {
  expect([999, 1_000, 2_000, 2_001].map((nowMs) => doubtClock(facts, nowMs))).toEqual([
    'not-yet-valid',
    undefined,
    undefined,
    'expired-when-issued',
  ]);
});
