import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import type { PulledRecord, RecordedCredentials } from './pull-record.ts';
import { type Access, type AccessRequest, type VerificationPolicy, verifyAccess } from './verify-access.ts';

const at = (name: string): { uid: string; namespace: string; name: string } => ({
  uid: `uid-${name}`,
  namespace: 'ns',
  name,
});
const secret = (name: string, hash: string): PullCredential => ({
  username: '',
  password: new Secret(''),
  hash,
  source: { from: 'secret', at: at(name) },
});
const account = (name: string): PullCredential => ({
  ...secret(name, 'h'),
  source: { from: 'service-account', at: at(name) },
});
const ofNode: PullCredential = { ...secret('', 'h'), source: undefined };
const none: RecordedCredentials = { secrets: [], serviceAccounts: [], nodePodsAccessible: false };
const known = (name: string, credentialHash: string): RecordedCredentials => ({
  ...none,
  secrets: [{ ...at(name), credentialHash }],
});
const record = (credentials?: RecordedCredentials, image = 'docker.io/team/app'): PulledRecord => ({
  imageRef: 'ref',
  lastUpdatedMs: 0,
  credentials: new Map(credentials === undefined ? [] : [[image, credentials]]),
});
const yes: Access = { allowed: true };
const no: Access = { allowed: false };
const learned = (name: string, credentialHash: string): Access => ({
  allowed: true,
  learned: { ...at(name), credentialHash },
});

const base: AccessRequest = { image: 'team/app:1', record: undefined, hasIntent: false, credentials: [] };
const preloaded = 'NeverVerifyPreloadedImages';
const many: RecordedCredentials = {
  ...none,
  secrets: Array.from({ length: 100 }, (_, index) => ({ ...at(`${index}`), credentialHash: `h${index}` })),
};

test.each<[string, VerificationPolicy, Partial<AccessRequest>, Access]>([
  ['NeverVerify: always allowed', 'NeverVerify', { record: record(known('s', 'h')) }, yes],
  ['preloaded, no record', preloaded, {}, yes],
  ['a pull is in flight', preloaded, { hasIntent: true }, no],
  ['pulled with unknown credentials', preloaded, { record: record() }, no],
  [
    'pulled under another name',
    preloaded,
    { record: record(known('s', 'h'), 'docker.io/team/other'), credentials: [secret('s', 'h')] },
    no,
  ],
  ['pulled for every pod', preloaded, { record: record({ ...none, nodePodsAccessible: true }) }, yes],
  ['pulled with a secret, pod without credentials', preloaded, { record: record(known('s', 'h')) }, no],
  [
    "pulled with a secret, pod with the node's credentials",
    preloaded,
    { record: record(known('s', 'h')), credentials: [ofNode] },
    no,
  ],
  [
    'pulled with this secret',
    preloaded,
    { record: record(known('s', 'h')), credentials: [secret('s', 'h')] },
    yes,
  ],
  [
    'another secret with the same content',
    preloaded,
    { record: record(known('s', 'h')), credentials: [secret('t', 'h')] },
    learned('t', 'h'),
  ],
  [
    'this secret with new content',
    preloaded,
    { record: record(known('s', 'h')), credentials: [secret('s', 'i')] },
    learned('s', 'i'),
  ],
  ['another secret', preloaded, { record: record(known('s', 'h')), credentials: [secret('t', 'i')] }, no],
  [
    'one of two matches',
    preloaded,
    { record: record(known('s', 'h')), credentials: [secret('t', 'i'), secret('s', 'h')] },
    yes,
  ],
  [
    'a record without a hash',
    preloaded,
    { record: record(known('s', '')), credentials: [secret('t', '')] },
    no,
  ],
  [
    'at the limit: allowed, not recorded',
    preloaded,
    { record: record(many), credentials: [secret('t', 'h5')] },
    yes,
  ],
  [
    'at the limit: new content is not allowed',
    preloaded,
    { record: record(many), credentials: [secret('5', 'new')] },
    no,
  ],
  [
    'pulled with this account',
    preloaded,
    { record: record({ ...none, serviceAccounts: [at('a')] }), credentials: [account('a')] },
    yes,
  ],
  [
    'another account',
    preloaded,
    { record: record({ ...none, serviceAccounts: [at('a')] }), credentials: [account('b')] },
    no,
  ],
  ['AlwaysVerify: preloaded images, too', 'AlwaysVerify', {}, no],
  [
    'AlwaysVerify: pulled for every pod',
    'AlwaysVerify',
    { record: record({ ...none, nodePodsAccessible: true }) },
    yes,
  ],
  ['allowlist: not on it', 'NeverVerifyAllowlistedImages', { image: 'example.com/other:1' }, no],
  ['allowlist: by name', 'NeverVerifyAllowlistedImages', { image: 'example.com/app:1' }, yes],
  [
    'allowlist: by prefix',
    'NeverVerifyAllowlistedImages',
    { image: 'example.org/team/app@sha256:'.concat('0'.repeat(64)) },
    yes,
  ],
  ['allowlist: short name', 'NeverVerifyAllowlistedImages', { image: 'busybox' }, yes],
  [
    'allowlist: a prefix within a path segment does not match',
    'NeverVerifyAllowlistedImages',
    { image: 'example.org/teams/app' },
    no,
  ],
])('verifyAccess: %s', (_, policy, over, want) => {
  const allowlist = ['example.com/app', 'example.org/team/*', 'docker.io/library/busybox'];
  expect(verifyAccess({ ...base, ...over }, { policy, allowlist })).toEqual(want);
});
