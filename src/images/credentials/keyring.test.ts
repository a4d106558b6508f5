import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Secret } from '../../base/log/secret.ts';
import { type DockerFormat, parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

/** Numbers the entries, so that a lookup shows what it found. */
function keyring(...addresses: readonly string[]): Keyring {
  const ring = new Keyring();
  for (const [index, address] of addresses.entries()) {
    const entry = { username: `${index}`, password: new Secret('p'), email: '' };
    ring.add(undefined, new Map([[address, entry]]));
  }
  return ring;
}

test.each([
  [['example.com'], 'example.com/team/app', '0'],
  [['https://example.com'], 'example.com/team/app', '0'],
  [['http://example.com/'], 'example.com/team/app', '0'],
  [['https://example.com/v1/'], 'example.com/team/app', '0'],
  [['https://example.com/v2/'], 'example.com/team/app', '0'],
  [['https://example.com/v1/team'], 'example.com/team/app', '0'],
  [['https://example.com/v1'], 'example.com/team/app', ''],
  [['example.com', 'example.com/team'], 'example.com/team/app', '1,0'],
  [['example.com/team', 'example.com'], 'example.com/other/app', '1'],
  [['example.com/team/app'], 'example.com/team/app', '0'],
  [['example.com', 'example.com'], 'example.com/app', '0,1'],
  [['*.example.com'], 'a.example.com/app', '0'],
  [['*.example.com', 'a.example.com'], 'a.example.com/app', '1,0'],
  [['example.com:5000'], 'example.com/app', ''],
  [['https://index.docker.io/v1/'], 'docker.io/library/busybox', '0'],
  [['index.docker.io'], 'library/busybox', '0'],
  [['index.docker.io'], 'busybox', '0'],
  [['index.docker.io'], 'example.com/busybox', ''],
  [['index.docker.io', 'docker.io'], 'docker.io/library/busybox', '1'],
  [['not an address'], 'example.com/app', ''],
  [[], 'example.com/app', ''],
])('credentials for %j match %s: [%s]', (addresses, image, want) => {
  const found = keyring(...addresses).lookup(image);
  expect(found.map(({ username }) => username).join(',')).toBe(want);
});

test('hashes the JSON that Go would write, so that both kubelets agree', () => {
  const ring = new Keyring();
  const entry = { username: 'u<', password: new Secret('p'), email: '' };
  ring.add(
    { from: 'secret', at: { uid: '1', namespace: 'ns', name: 's' } },
    new Map([['example.com', entry]]),
  );
  const [found] = ring.lookup('example.com/app');
  const text = '{"username":"u\\u003c","password":"p"}';
  expect(found?.hash).toBe(createHash('sha256').update(text).digest('hex'));
  expect(found?.source).toEqual({ from: 'secret', at: { uid: '1', namespace: 'ns', name: 's' } });
});

const auth = (text: string): string => Buffer.from(text).toString('base64');
const read = (text: string, format: DockerFormat): unknown =>
  [...parseDockerConfig(text, format)].map(([address, { email, password, username }]) => [
    address,
    username,
    password.reveal(),
    email,
  ]);

test.each([
  ['dockercfg', { 'a.io': { username: 'u', password: 'p', email: 'e' } }, [['a.io', 'u', 'p', 'e']]],
  ['config.json', { auths: { 'a.io': { auth: auth('u:p:q') } } }, [['a.io', 'u', 'p:q', '']]],
  [
    'config.json',
    { auths: { 'a.io': { auth: auth('u:pp').replace(/=+$/, '') } } },
    [['a.io', 'u', 'pp', '']],
  ],
  [
    'config.json',
    { auths: { 'a.io': { auth: auth('u:p'), username: 'x', password: 'y' } } },
    [['a.io', 'u', 'p', '']],
  ],
  [
    'config.json',
    { auths: { 'a.io': {} }, HttpHeaders: { a: 'b' }, credsStore: 'x' },
    [['a.io', '', '', '']],
  ],
  ['config.json', {}, []],
  ['config.json', { auths: null }, []],
  ['dockercfg', null, []],
] as const)('%s %j', (format, value, want) => expect(read(JSON.stringify(value), format)).toEqual(want));

test('rejects more registries than the limit', () => {
  const auths = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`r${at}.io`, {}]));
  const text = JSON.stringify({ auths });
  expect(parseDockerConfig(text, 'config.json').size).toBe(1_001);
  expect(() => parseDockerConfig(text, 'config.json', 1_000)).toThrow('it has more than 1000 registries');
});

test.each([
  ['not json secret-text', 'error occurred while trying to unmarshal json'],
  ['[]', 'the configuration is not an object'],
  ['{"auths":[]}', 'auths is not an object'],
  ['{"auths":{"a":"secret-text"}}', 'an entry is not an object'],
  ['{"auths":{"a":{"username":5}}}', 'username is not a string'],
  [
    '{"auths":{"a":{"auth":"secret-text!"}}}',
    'unable to parse auth field, must be formatted as base64(username:password)',
  ],
  [
    `{"auths":{"a":{"auth":"${auth('secret-text')}"}}}`,
    'unable to parse auth field, must be formatted as base64(username:password)',
  ],
])('reports an invalid configuration without its content: %s', (text, why) => {
  expect(() => parseDockerConfig(text, 'config.json')).toThrow(expect.objectContaining({ message: why }));
});
