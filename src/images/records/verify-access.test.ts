import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import type { PulledRecord, RecordedCredentials } from './pull-record.ts';
import {
  judgeAccess,
  type Match,
  matchCredentials,
  type PresentImageRecords,
  type VerificationPolicy,
} from './verify-access.ts';

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
const record = (credentials?: RecordedCredentials, image = 'team/app'): PulledRecord => ({
  imageRef: 'ref',
  lastUpdatedMs: 0,
  credentials: new Map(credentials === undefined ? [] : [[image, credentials]]),
});
const byPolicy: Match = { result: 'credentialPolicyAllowed' };
const yes: Match = { result: 'credentialRecordFound' };
const no: Match = { result: 'mustAuthenticate' };
const learned = (name: string, credentialHash: string): Match => ({
  ...yes,
  learned: { ...at(name), credentialHash },
});

type Case = PresentImageRecords & { readonly credentials: readonly PullCredential[] };
const base: Case = { image: 'team/app:1', record: undefined, hasIntent: false, credentials: [] };
const preloaded = 'NeverVerifyPreloadedImages';
const many: RecordedCredentials = {
  ...none,
  secrets: Array.from({ length: 100 }, (_, index) => ({ ...at(`${index}`), credentialHash: `h${index}` })),
};

test.each<[string, VerificationPolicy, Partial<Case>, Match]>([
  ['NeverVerify: always allowed', 'NeverVerify', { record: record(known('s', 'h')) }, byPolicy],
  [
    'records of both spellings',
    preloaded,
    {
      record: {
        ...record(known('s', 'h')),
        credentials: new Map([
          ['team/app', known('t', 'i')],
          ['docker.io/team/app', known('s', 'h')],
        ]),
      },
      credentials: [secret('s', 'h')],
    },
    yes,
  ],
  ['NeverVerify: with an invalid record', 'NeverVerify', { record: 'invalid' }, byPolicy],
  ['an invalid record', preloaded, { record: 'invalid' }, { result: 'error' }],
  [
    'a record of the full name',
    preloaded,
    { record: record({ ...none, nodePodsAccessible: true }, 'docker.io/library/busybox'), image: 'busybox' },
    yes,
  ],
  ['preloaded, no record', preloaded, {}, byPolicy],
  ['a pull is in flight', preloaded, { hasIntent: true }, no],
  ['pulled with unknown credentials', preloaded, { record: record() }, no],
  [
    'pulled under another name',
    preloaded,
    { record: record(known('s', 'h'), 'team/other'), credentials: [secret('s', 'h')] },
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
  ['allowlist: by name', 'NeverVerifyAllowlistedImages', { image: 'example.com/app:1' }, byPolicy],
  [
    'allowlist: by prefix',
    'NeverVerifyAllowlistedImages',
    { image: 'example.org/team/app@sha256:'.concat('0'.repeat(64)) },
    byPolicy,
  ],
  ['allowlist: short name', 'NeverVerifyAllowlistedImages', { image: 'busybox' }, byPolicy],
  [
    'allowlist: listed in short',
    'NeverVerifyAllowlistedImages',
    { image: 'docker.io/library/nginx' },
    byPolicy,
  ],
  ['allowlist: as listed', 'NeverVerifyAllowlistedImages', { image: 'nginx:1' }, byPolicy],
  [
    'allowlist: a prefix within a path segment does not match',
    'NeverVerifyAllowlistedImages',
    { image: 'example.org/teams/app' },
    no,
  ],
])('access: %s', (_, policy, over, want) => {
  const allowlist = [
    'example.com/app',
    'example.org/team/*',
    'docker.io/library/busybox',
    'nginx',
    '0'.repeat(64),
  ];
  const { credentials, ...records } = { ...base, ...over };
  const verdict = judgeAccess(records, { policy, allowlist });
  const match =
    verdict.compareWith === undefined ? verdict : matchCredentials(verdict.compareWith, credentials);
  expect(match).toEqual(want);
});
