import { describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../base/log/log.ts';
import { pluginProviders, programChecks } from './plugin-providers.ts';

const config = {
  name: 'ecr',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  matchImages: ['example.com'],
  args: [],
  env: [],
  tokenAttributes: {
    serviceAccountTokenAudience: 'aud',
    requireServiceAccount: true,
    cacheType: 'Token',
    requiredServiceAccountAnnotationKeys: [],
    optionalServiceAccountAnnotationKeys: [],
  },
} as const;

describe('programChecks', () => {
  const { signal } = new AbortController();

  test('has no component if no plugin is configured', () => {
    expect(programChecks({ check: async () => undefined }, undefined)).toEqual([]);
  });

  test('fails the start if a program cannot be executed', async () => {
    const checked: string[] = [];
    const check = async (names: readonly string[]): Promise<void> => {
      checked.push(...names);
      throw new Error('ecr: no such program');
    };
    const [component] = programChecks({ check }, { providers: [config], hash: 'h' });
    await expect(component?.start(signal)).rejects.toThrow('ecr: no such program');
    expect(checked).toEqual(['ecr']);
  });
});

test.each([
  [true, 1],
  [false, 0],
])('pluginProviders: with the gate %s a plugin gets %i tokens', async (allowTokens, want) => {
  let tokens = 0;
  const hashes: string[] = [];
  const [provider] = pluginProviders({
    configuration: { providers: [config], hash: 'sha256:1' },
    allowTokens,
    programs: { check: async () => undefined, run: () => Promise.reject(new Error('no program')) },
    objects: {
      serviceAccount: async (namespace, name) => ({ metadata: { namespace, name, uid: 'u' } }),
      serviceAccountToken: async (_namespace, _name, request) => {
        tokens += 1;
        return { ...request, status: { token: 't', expirationTimestamp: '' } };
      },
    },
    metrics: { setPluginConfig: (hash) => void hashes.push(hash), observePlugin: () => undefined },
    clock: new FakeClock(),
    log: silentLogger,
  });
  await provider?.provide(
    'example.com/app',
    { ...aPod(), spec: { containers: [], serviceAccountName: 'a' } },
    new AbortController().signal,
  );
  expect(tokens).toBe(want);
  expect(hashes).toEqual(['sha256:1']);
});
