import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import { decodePluginResponse, encodePluginRequest } from './plugin-protocol.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const response = (over: object): string =>
  JSON.stringify({ apiVersion, kind: 'CredentialProviderResponse', cacheKeyType: 'Image', ...over });

test('encodes requests', () => {
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
])('decodes the response %j', (over, cacheKeyType, cacheMs, auth) => {
  const read = decodePluginResponse(apiVersion, response(over));
  const entries = [...read.auth].map(([address, { password, username }]) => [
    address,
    username,
    password.reveal(),
  ]);
  expect([read.cacheKeyType, read.cacheMs, entries]).toEqual([cacheKeyType, cacheMs, auth]);
});

const wrong = (why: string): string =>
  `error decoding credential provider plugin response from stdout: ${why}`;
test.each([
  ['', 'error reading GVK from response: it is not JSON'],
  ['secret-text', 'error reading GVK from response: it is not JSON'],
  ['[]', wrong('not an object')],
  ['null', wrong('not an object')],
  [
    response({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
    `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:credentialprovider.kubelet.k8s.io/v1beta1`,
  ],
  [
    response({ apiVersion: 'secret text' }),
    `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:none`,
  ],
  [response({ kind: 'Other' }), wrong('invalid kind')],
  [response({ secret: 1 }), wrong('unknown field')],
  [response({ cacheKeyType: 'image' }), 'credential provider plugin did not return a valid cacheKeyType'],
  [response({ cacheKeyType: undefined }), 'credential provider plugin did not return a valid cacheKeyType'],
  [response({ cacheDuration: 'secret' }), wrong('invalid cacheDuration')],
  [response({ cacheDuration: 5 }), wrong('invalid cacheDuration')],
  [response({ auth: ['secret'] }), wrong('invalid auth')],
  [response({ auth: { a: { username: 'u', token: 'secret' } } }), wrong('invalid auth')],
  [response({ auth: { a: { password: 7 } } }), wrong('invalid auth')],
  [response({ auth: { a: null } }), wrong('invalid auth')],
])('rejects an invalid response without quoting it: %s', (text, message) => {
  expect(() => decodePluginResponse(apiVersion, text)).toThrow(expect.objectContaining({ message }));
});
