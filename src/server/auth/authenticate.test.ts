import { describe, expect, test } from 'vitest';
import type { ClientCertificate, HttpRequest } from '../../api/ports/http.ts';
import { KubeletError } from '../../base/errors.ts';
import { httpRequest } from '../fixtures/requests.ts';
import { type Authentication, authenticate } from './authenticate.ts';
import type { UserInfo } from './user.ts';

const nowMs = 1_000_000;
const admin: ClientCertificate = {
  commonName: 'admin',
  organizations: ['system:masters'],
  uid: 'u-1',
  notBeforeMs: 0,
  notAfterMs: 2_000_000,
  sha256: 'ab12',
  problem: undefined,
};
const bob: UserInfo = { name: 'bob', uid: 'u2', groups: ['dev'], extra: { k: ['v'] } };

const tokens = {
  userOf: async (token: string): Promise<UserInfo | undefined> => {
    if (token === 'down') throw new KubeletError('unavailable', 'ConnectionRefused', 'no answer');
    if (token === 'echoed') throw new KubeletError('unavailable', 'InternalError', 'cannot review "echoed"');
    if (token === 'anonymous') return { name: 'system:anonymous', uid: '', groups: [], extra: {} };
    return token === 'good' ? bob : undefined;
  },
};

interface Setting {
  readonly certificates?: boolean;
  readonly tokens?: undefined;
  readonly anonymous?: boolean;
  readonly certificateUids?: boolean;
}

function who(request: Partial<HttpRequest>, setting: Setting = {}): Promise<Authentication> {
  return authenticate(
    {
      certificates: true,
      certificateUids: true,
      tokens,
      anonymous: false,
      clock: { now: () => nowMs },
      ...setting,
    },
    httpRequest('GET /pods', request),
  );
}

const bearer = (token: string): Partial<HttpRequest> => ({ headers: { authorization: `Bearer ${token}` } });
const nobody = { user: { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} } };
const byCertificate = {
  user: {
    name: 'admin',
    uid: 'u-1',
    groups: ['system:masters', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
  },
};
const isBob = { user: { ...bob, groups: ['dev', 'system:authenticated'] } };
const unsigned = { ...admin, problem: 'DEPTH_ZERO_SELF_SIGNED_CERT' };
const problem = (text: string): object => ({ problem: text });

describe('authenticate', () => {
  const cases: readonly (readonly [string, Partial<HttpRequest>, Setting, object])[] = [
    ['nothing given', {}, {}, problem('no credentials')],
    ['nothing given, anonymous allowed', {}, { anonymous: true }, nobody],
    ['a certificate', { certificate: admin }, {}, byCertificate],
    [
      'a certificate where nobody vouches',
      { certificate: admin },
      { certificates: false },
      problem('no credentials'),
    ],
    [
      'a certificate that is over by now',
      { certificate: { ...admin, notAfterMs: 999_999 } },
      {},
      problem('client certificate: has expired or is not yet valid'),
    ],
    [
      'a certificate that is not yet',
      { certificate: { ...admin, notBeforeMs: 1_000_001 } },
      {},
      problem('client certificate: has expired or is not yet valid'),
    ],
    [
      'a bad certificate is not anonymous',
      { certificate: unsigned },
      { anonymous: true },
      problem('client certificate: DEPTH_ZERO_SELF_SIGNED_CERT'),
    ],
    [
      'a certificate without a name',
      { certificate: { ...admin, commonName: '' } },
      { anonymous: true },
      nobody,
    ],
    [
      'a UID that does not count',
      { certificate: admin },
      { certificateUids: false },
      { user: { ...byCertificate.user, uid: '' } },
    ],
    ['a token', bearer('good'), {}, isBob],
    ['a token in small letters', { headers: { authorization: 'bearer good' } }, {}, isBob],
    ['a token with a tail', { headers: { authorization: 'Bearer good tail' } }, {}, isBob],
    ['a token beside a bad certificate', { certificate: unsigned, ...bearer('good') }, {}, isBob],
    ['a certificate beside a bad token', { certificate: admin, ...bearer('bad') }, {}, byCertificate],
    ['a bad token is not anonymous', bearer('bad'), { anonymous: true }, problem('invalid bearer token')],
    ['a token nobody can check', bearer('down'), { anonymous: true }, problem('no answer')],
    ['a token where tokens do not count', bearer('good'), { tokens: undefined, anonymous: true }, nobody],
    ['an empty token', { headers: { authorization: 'Bearer ' } }, { anonymous: true }, nobody],
    ['a space too many', { headers: { authorization: 'Bearer  good' } }, { anonymous: true }, nobody],
    ['a password', { headers: { authorization: 'Basic Z29vZDpnb29k' } }, { anonymous: true }, nobody],
    [
      'a token of nobody',
      bearer('anonymous'),
      {},
      { user: { name: 'system:anonymous', uid: '', groups: [], extra: {} } },
    ],
  ];
  for (const [name, request, setting, want] of cases) {
    test(name, async () => expect(await who(request, setting)).toEqual(want));
  }

  test('a client that has gone is not answered', async () => {
    const gone = AbortSignal.abort();
    await expect(
      authenticate(
        {
          certificates: false,
          certificateUids: false,
          tokens: { userOf: (_, signal) => Promise.reject(signal.reason as Error) },
          anonymous: true,
          clock: { now: () => 0 },
        },
        httpRequest('GET /', { ...bearer('x'), signal: gone }),
      ),
    ).rejects.toBe(gone.reason);
  });
});

describe('a token among the protocols of a WebSocket', () => {
  const of = (token: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
  const offer = (...protocols: readonly string[]): Partial<HttpRequest> => ({
    upgrade: true,
    headers: { 'sec-websocket-protocol': protocols.join(', ') },
  });
  const cases: readonly (readonly [string, Partial<HttpRequest>, object])[] = [
    ['counts', offer(of('good'), 'v4.channel.k8s.io'), isBob],
    ['that is bad', offer(of('bad'), 'v4.channel.k8s.io'), problem('invalid bearer token')],
    ['alone', offer(of('good')), problem('missing additional subprotocol')],
    [
      'twice',
      offer(of('good'), of('good'), 'x'),
      problem('multiple base64.bearer.authorization tokens specified'),
    ],
    [
      'in no code',
      offer('base64url.bearer.authorization.k8s.io.!', 'x'),
      problem('invalid base64.bearer.authorization token encoding'),
    ],
    ['without one', offer('x'), problem('no credentials')],
    ['of an ordinary request', { ...offer(of('good'), 'x'), upgrade: false }, problem('no credentials')],
  ];
  for (const [name, request, want] of cases) {
    test(name, async () => expect(await who(request)).toEqual(want));
  }
});

test('a token that a failed review echoes is masked in the problem', async () => {
  expect(await who(bearer('echoed'))).toEqual({ problem: 'cannot review "<masked>"' });
});
