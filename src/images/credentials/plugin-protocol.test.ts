import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import { decodePluginResponse, encodePluginRequest } from './plugin-protocol.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const response = (over: object): string =>
  JSON.stringify({ apiVersion, kind: 'CredentialProviderResponse', cacheKeyType: 'Image', ...over });

test('requests', () => {
  expect(JSON.parse(encodePluginRequest(apiVersion, { image: 'example.com/app' }))).toEqual({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: 'example.com/app',
  });
  const serviceAccountToken = new Secret('t');
  const request = { image: 'a', serviceAccountToken, serviceAccountAnnotations: { k: 'v' } };
  expect(JSON.parse(encodePluginRequest(apiVersion, request))).toMatchObject({
    serviceAccountToken: 't',
    serviceAccountAnnotations: { k: 'v' },
  });
});

test.each([
  [{}, 'Image', undefined, []],
  [{ cacheKeyType: 'Registry', cacheDuration: '1m30s' }, 'Registry', 90_000, []],
  [{ cacheKeyType: 'Global', cacheDuration: '0s', auth: null }, 'Global', 0, []],
  [
    { cacheDuration: null, auth: { 'a.io': { username: 'u', password: 'p' } } },
    'Image',
    undefined,
    [['a.io', 'u', 'p']],
  ],
  [{ auth: { 'a.io': {} } }, 'Image', undefined, [['a.io', '', '']]],
])('answer %j', (over, cacheKeyType, cacheMs, auth) => {
  const read = decodePluginResponse(apiVersion, response(over));
  const entries = [...read.auth].map(([address, { password, username }]) => [
    address,
    username,
    password.reveal(),
  ]);
  expect([read.cacheKeyType, read.cacheMs, entries]).toEqual([cacheKeyType, cacheMs, auth]);
});

const wrong = (what: string): string =>
  `error decoding credential provider plugin response from stdout: ${what} is not as it should be`;
test.each([
  ['', 'error reading GVK from response: it is not JSON'],
  ['secret-text', 'error reading GVK from response: it is not JSON'],
  ['[]', wrong('the whole')],
  ['null', wrong('the whole')],
  [
    response({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
    `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:credentialprovider.kubelet.k8s.io/v1beta1`,
  ],
  [
    response({ apiVersion: 'secret text' }),
    `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:none`,
  ],
  [response({ kind: 'Other' }), wrong('kind')],
  [response({ secret: 1 }), wrong('a field that is not known')],
  [response({ cacheKeyType: 'image' }), 'credential provider plugin did not return a valid cacheKeyType'],
  [response({ cacheKeyType: undefined }), 'credential provider plugin did not return a valid cacheKeyType'],
  [response({ cacheDuration: 'secret' }), wrong('cacheDuration')],
  [response({ cacheDuration: 5 }), wrong('cacheDuration')],
  [response({ auth: ['secret'] }), wrong('auth')],
  [response({ auth: { a: { username: 'u', token: 'secret' } } }), wrong('auth')],
  [response({ auth: { a: { password: 7 } } }), wrong('auth')],
  [response({ auth: { a: null } }), wrong('auth')],
])('refused without a word of it: %s', (text, message) => {
  expect(() => decodePluginResponse(apiVersion, text)).toThrow(expect.objectContaining({ message }));
});
