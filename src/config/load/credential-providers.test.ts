import { describe, expect, test } from 'vitest';
import { Duration } from '../duration.ts';
import { memoryFiles, type Texts } from '../fixtures/memory-files.ts';
import { defaultGates, type FeatureGates } from '../gates/feature-gates.ts';
import { readCredentialProviders } from './credential-providers.ts';
import type { Findings } from './read-files.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n';
const good = {
  name: 'ecr',
  matchImages: ['*.dkr.ecr.*.amazonaws.com', 'registry.io:8080/path'],
  defaultCacheDuration: '12h',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
};
const token = { serviceAccountTokenAudience: 'a', cacheType: 'Token', requireServiceAccount: true };

async function read(texts: Texts, path: string, gates: FeatureGates = defaultGates) {
  const findings: Findings = { problems: [], warnings: [] };
  const result = await readCredentialProviders(path, memoryFiles(texts), gates, findings);
  return { ...result, problems: findings.problems.map(({ where, message }) => `${where}: ${message}`) };
}

async function problemsOf(
  provider: Readonly<Record<string, unknown>>,
  gates?: FeatureGates,
): Promise<readonly string[]> {
  const text = `${head}providers: ${JSON.stringify([provider])}\n`;
  return (await read({ '/p.yaml': text }, '/p.yaml', gates)).problems;
}

test('decodes a file with defaults', async () => {
  const { providers, hash, problems } = await read(
    { '/p.yaml': `${head}providers:\n- ${JSON.stringify({ ...good, tokenAttributes: token })}\n` },
    '/p.yaml',
  );
  expect(problems).toEqual([]);
  expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(providers).toEqual([
    {
      ...good,
      defaultCacheDuration: Duration.ofMs(12 * 3600 * 1000),
      args: [],
      env: [],
      tokenAttributes: {
        ...token,
        requiredServiceAccountAnnotationKeys: [],
        optionalServiceAccountAnnotationKeys: [],
      },
    },
  ]);
});

test('merges the files of a directory in lexical order', async () => {
  const file = (name: string): string => `${head}providers: [${JSON.stringify({ ...good, name })}]\n`;
  const texts = { '/d/b.yml': file('b'), '/d/a.json': file('a'), '/d/c.yaml': file('c'), '/d/x.txt': 'x' };
  const { providers, problems } = await read(texts, '/d');
  expect([providers.map(({ name }) => name), problems]).toEqual([['a', 'b', 'c'], []]);
});

describe('rejects', () => {
  const cases: readonly (readonly [
    name: string,
    provider: Readonly<Record<string, unknown>>,
    problems: string,
  ])[] = [
    ['a slash in the name', { ...good, name: 'a/b' }, 'the name must be a file name'],
    ['a space in the name', { ...good, name: 'a b' }, 'the name must be a file name'],
    ['the name ..', { ...good, name: '..' }, 'the name must be a file name'],
    ['an unknown version', { ...good, apiVersion: 'v9' }, 'apiVersion "v9" must be one of'],
    ['no images', { ...good, matchImages: [] }, 'matchImages must not be empty'],
    ['an invalid image pattern', { ...good, matchImages: ['a b'] }, 'matchImages entry "a b"'],
    ['an invalid port', { ...good, matchImages: ['a.io:*'] }, 'matchImages entry "a.io:*"'],
    ['no cache duration', { ...good, defaultCacheDuration: null }, 'defaultCacheDuration must be set'],
    [
      'a negative cache duration',
      { ...good, defaultCacheDuration: '-1s' },
      'defaultCacheDuration -1s is negative',
    ],
    ['an unknown field', { ...good, arguments: [] }, 'providers[0].arguments: unknown field'],
    [
      'a token with an older version',
      { ...good, apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1', tokenAttributes: token },
      'tokenAttributes needs apiVersion',
    ],
    [
      'a token without cache type',
      { ...good, tokenAttributes: { ...token, cacheType: '' } },
      'cacheType "" must be',
    ],
    [
      'a token without audience',
      { ...good, tokenAttributes: { ...token, serviceAccountTokenAudience: '' } },
      'serviceAccountTokenAudience must be set',
    ],
    [
      'a token without requireServiceAccount',
      { ...good, tokenAttributes: { ...token, requireServiceAccount: null } },
      'requireServiceAccount must be set',
    ],
    [
      'required annotations without a required account',
      {
        ...good,
        tokenAttributes: {
          ...token,
          requireServiceAccount: false,
          requiredServiceAccountAnnotationKeys: ['a'],
        },
      },
      'needs requireServiceAccount to be true',
    ],
    [
      'an annotation both required and optional',
      {
        ...good,
        tokenAttributes: {
          ...token,
          requiredServiceAccountAnnotationKeys: ['a'],
          optionalServiceAccountAnnotationKeys: ['a'],
        },
      },
      'the annotation key "a" is specified twice',
    ],
    [
      'an invalid annotation key',
      { ...good, tokenAttributes: { ...token, optionalServiceAccountAnnotationKeys: ['a b'] } },
      'the annotation key "a b"',
    ],
  ];
  for (const [name, provider, expected] of cases) {
    test(name, async () => {
      expect(await problemsOf(provider)).toEqual([expect.stringContaining(expected)]);
    });
  }

  test('a token without its gate', async () => {
    const gates = { ...defaultGates, KubeletServiceAccountTokenForCredentialProviders: false };
    expect(await problemsOf({ ...good, tokenAttributes: token }, gates)).toEqual([
      expect.stringContaining('needs the feature gate'),
    ]);
  });

  test('no providers, two of the same name, another kind, an empty directory', async () => {
    const twice = `${head}providers: ${JSON.stringify([good, good])}\n`;
    const results = await Promise.all([
      read({ '/p': `${head}providers: []\n` }, '/p'),
      read({ '/p': twice }, '/p'),
      read({ '/p': twice.replace('CredentialProviderConfig', 'KubeletConfiguration') }, '/p'),
      read({ '/d/readme': '' }, '/d'),
      read({}, '/p'),
    ]);
    expect(results.map(({ problems }) => problems.join())).toEqual([
      '/p: providers must not be empty',
      '/p: provider "ecr": is specified twice',
      '/p:2: kind: must be CredentialProviderConfig, not "KubeletConfiguration"',
      expect.stringContaining('has no .json'),
      '/p: the file cannot be read: no such file',
    ]);
  });
});
