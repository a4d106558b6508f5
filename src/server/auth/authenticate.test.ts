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
const anonymous = {
  user: { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} },
};
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
    ['no credentials', {}, {}, problem('no credentials')],
    ['no credentials, anonymous allowed', {}, { anonymous: true }, anonymous],
    ['a certificate', { certificate: admin }, {}, byCertificate],
    [
      'a certificate without clientCAFile',
      { certificate: admin },
      { certificates: false },
      problem('no credentials'),
    ],
    [
      'a certificate that has expired since',
      { certificate: { ...admin, notAfterMs: 999_999 } },
      {},
      problem('client certificate: has expired or is not yet valid'),
    ],
    [
      'a certificate that is not valid yet',
      { certificate: { ...admin, notBeforeMs: 1_000_001 } },
      {},
      problem('client certificate: has expired or is not yet valid'),
    ],
    [
      'an invalid certificate is not anonymous',
      { certificate: unsigned },
      { anonymous: true },
      problem('client certificate: DEPTH_ZERO_SELF_SIGNED_CERT'),
    ],
    [
      'a certificate without a name',
      { certificate: { ...admin, commonName: '' } },
      { anonymous: true },
      anonymous,
    ],
    [
      'a UID in a certificate without the gate',
      { certificate: admin },
      { certificateUids: false },
      { user: { ...byCertificate.user, uid: '' } },
    ],
    ['a token', bearer('good'), {}, isBob],
    ['a token with a lower-case scheme', { headers: { authorization: 'bearer good' } }, {}, isBob],
    ['a token followed by another word', { headers: { authorization: 'Bearer good tail' } }, {}, isBob],
    ['a valid token with an invalid certificate', { certificate: unsigned, ...bearer('good') }, {}, isBob],
    [
      'a valid certificate with an invalid token',
      { certificate: admin, ...bearer('bad') },
      {},
      byCertificate,
    ],
    [
      'an invalid token is not anonymous',
      bearer('bad'),
      { anonymous: true },
      problem('invalid bearer token'),
    ],
    ['a token whose review fails', bearer('down'), { anonymous: true }, problem('no answer')],
    ['a token if tokens are not accepted', bearer('good'), { tokens: undefined, anonymous: true }, anonymous],
    ['an empty token', { headers: { authorization: 'Bearer ' } }, { anonymous: true }, anonymous],
    [
      'a token after two spaces',
      { headers: { authorization: 'Bearer  good' } },
      { anonymous: true },
      anonymous,
    ],
    ['a password', { headers: { authorization: 'Basic Z29vZDpnb29k' } }, { anonymous: true }, anonymous],
    [
      'a token of the anonymous user',
      bearer('anonymous'),
      {},
      { user: { name: 'system:anonymous', uid: '', groups: [], extra: {} } },
    ],
  ];
  for (const [name, request, setting, want] of cases) {
    test(name, async () => expect(await who(request, setting)).toEqual(want));
  }

  test('rejects with an abort if the client disconnected', async () => {
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
    ['is accepted', offer(of('good'), 'v4.channel.k8s.io'), isBob],
    ['is rejected if invalid', offer(of('bad'), 'v4.channel.k8s.io'), problem('invalid bearer token')],
    ['is rejected without another protocol', offer(of('good')), problem('missing additional subprotocol')],
    [
      'is rejected if given twice',
      offer(of('good'), of('good'), 'x'),
      problem('multiple base64.bearer.authorization tokens specified'),
    ],
    [
      'is rejected if not base64url',
      offer('base64url.bearer.authorization.k8s.io.!', 'x'),
      problem('invalid base64.bearer.authorization token encoding'),
    ],
    ['may be missing', offer('x'), problem('no credentials')],
    [
      'is ignored without an upgrade',
      { ...offer(of('good'), 'x'), upgrade: false },
      problem('no credentials'),
    ],
  ];
  for (const [name, request, want] of cases) {
    test(name, async () => expect(await who(request)).toEqual(want));
  }
});

test('masks a token that a failed review echoes', async () => {
  expect(await who(bearer('echoed'))).toEqual({ problem: 'cannot review "<masked>"' });
});
