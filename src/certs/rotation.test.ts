import { expect, test } from 'vitest';
import type { CertificateFacts, CertificateTemplate } from '../api/ports/certificates.ts';
import { computeRotation, doubtClock, isExpired, whatLacks } from './rotation.ts';

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
  ['none: now', { facts: undefined }, 'now'],
  ['young: at 70 % at the earliest', { chance: 0 }, 1_700],
  ['young: before 90 %', { chance: 0.9999 }, expect.closeTo(1_900, 0)],
  ['in the middle of the span', { chance: 0.5 }, 1_800],
  ['just before its moment', { chance: 0, nowMs: 1_699 }, 1_700],
  ['at its moment', { chance: 0, nowMs: 1_700 }, 'now'],
  ['expired', { nowMs: 5_000 }, 'now'],
  ['not valid yet: waits', { chance: 0, nowMs: 10 }, 1_700],
  ['for another node', { template: { ...template, commonName: 'system:node:m' } }, 'now'],
  ['an address more', { template: { ...template, ips: ['192.0.2.2', '2001:db8::1'] } }, 'now'],
  ['an address less: it stays', { chance: 0, template: { ...template, ips: [] } }, 1_700],
  ['nobody knows what to ask for: it stays', { chance: 0, template: undefined }, 1_700],
] as const;

for (const [name, over, want] of rotations)
  test(`computeRotation: ${name}`, () => {
    const rotation = computeRotation({ facts, template, chance: 0.5, nowMs: 1_100, ...over });
    if (want === 'now') expect(rotation).toMatchObject({ rotate: 'now' });
    else expect(rotation).toEqual({ rotate: 'later', atMs: want });
  });

const lacks = [
  ['nothing', {}, undefined],
  ['a DNS name', { dnsNames: ['n', 'n.example'] }, 'it lacks the DNS name n.example'],
  ['an address', { ips: ['192.0.2.3'] }, 'it lacks the address 192.0.2.3'],
  ['an organization', { organizations: ['system:masters'] }, 'it lacks the organization system:masters'],
] as const;

for (const [name, over, want] of lacks)
  test(`whatLacks: ${name}`, () => expect(whatLacks(facts, { ...template, ...over })).toBe(want));

test('isExpired: after its last moment', () => {
  expect([1_999, 2_000, 2_001].map((nowMs) => isExpired(facts, nowMs))).toEqual([false, false, true]);
});

test('doubtClock: a new certificate that is not valid now says that a clock is wrong', () => {
  expect([999, 1_000, 2_000, 2_001].map((nowMs) => doubtClock(facts, nowMs))).toEqual([
    'not-yet-valid',
    undefined,
    undefined,
    'expired-when-issued',
  ]);
});
