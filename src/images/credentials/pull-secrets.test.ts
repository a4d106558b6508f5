import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import type { Secret as SecretObject } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { CredentialFinder } from './find-credentials.ts';
import { Keyring } from './keyring.ts';
import { pullSecretsKeyring } from './pull-secrets.ts';

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const entry = (username: string): object => ({ 'example.com': { username, password: 'p' } });
const secrets: Readonly<Record<string, Partial<SecretObject>>> = {
  json: {
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64({ auths: entry('j') }) },
  },
  cfg: { type: 'kubernetes.io/dockercfg', data: { '.dockercfg': base64(entry('c')) } },
  crossed: { type: 'kubernetes.io/dockercfg', data: { '.dockerconfigjson': base64({ auths: entry('x') }) } },
  opaque: { type: 'Opaque', data: { '.dockerconfigjson': base64({ auths: entry('x') }) } },
  empty: { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': '' } },
  broken: { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64('secret-text') } },
};
const deps = {
  log: silentLogger,
  objects: {
    secret: async (namespace: string, name: string): Promise<SecretObject> => {
      const found = secrets[name];
      if (found === undefined) throw new KubeletError('not-found', 'NotFound', `secret "${name}" not found`);
      return { ...found, metadata: { namespace, name, uid: `uid-${name}` } };
    },
  },
};
const { signal } = new AbortController();
const ring = (...names: readonly string[]): ReturnType<typeof pullSecretsKeyring> => {
  const pod = aPod({ namespace: 'ns', imagePullSecrets: names.map((name) => ({ name })) });
  return pullSecretsKeyring(deps, pod, signal);
};

test.each([
  [['json'], 'j'],
  [['cfg'], 'c'],
  [['cfg', 'json'], 'c,j'],
  [['crossed', 'opaque', 'empty', ''], ''],
  [['gone', 'json'], 'j'],
])('%j', async (names, want) => {
  const found = (await ring(...names)).keyring.lookup('example.com/app');
  expect(found.map(({ username }) => username).join(',')).toBe(want);
});

test('keeps the source of the credentials', async () => {
  const [found] = (await ring('json')).keyring.lookup('example.com/app');
  expect(found?.source).toEqual({ from: 'secret', at: { uid: 'uid-json', namespace: 'ns', name: 'json' } });
});

test('names missing secrets and uses the others', async () => {
  const { keyring, missing } = await ring('gone', 'json', 'lost');
  expect([keyring.lookup('example.com/app').length, missing]).toEqual([1, ['gone', 'lost']]);
});

test('rejects a secret whose content does not match its type, without quoting it', async () => {
  await expect(ring('broken')).rejects.toMatchObject({
    reason: 'ErrImagePull',
    message: 'image pull secret ns/broken cannot be read',
    cause: expect.objectContaining({ message: 'the configuration is not an object' }) as unknown,
  });
});

test('finds the credentials of the pod, of the node and of the plugins, in this order', async () => {
  const named = (username: string): Keyring => {
    const keyring = new Keyring();
    keyring.add(undefined, configOf(username));
    return keyring;
  };
  const configOf = (username: string): Parameters<Keyring['add']>[1] =>
    new Map([['example.com', { username, password: { reveal: () => 'p' } as never, email: '' }]]);
  const finder = new CredentialFinder({
    secrets: deps,
    node: { keyring: async () => named('node') },
    plugins: [
      { provide: async () => ({ auth: configOf('first'), source: undefined }) },
      { provide: async () => undefined },
      { provide: async () => ({ auth: configOf('second'), source: undefined }) },
    ],
  });
  const pod = aPod({ imagePullSecrets: [{ name: 'cfg' }, { name: 'gone' }] });
  const { credentials, missingSecrets } = await finder.find('example.com/app', pod, signal);
  expect(missingSecrets).toEqual(['gone']);
  expect(credentials.map(({ username }) => username)).toEqual(['c', 'node', 'first', 'second']);
});
