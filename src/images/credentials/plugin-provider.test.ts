import { expect, test } from 'vitest';
import { aPod, type PodOver } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { TokenRequest } from '../../api/k8s/types.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { type PluginConfig, PluginProvider, type PluginRun } from './plugin-provider.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const answer = (over: object = {}): string =>
  JSON.stringify({
    apiVersion,
    kind: 'CredentialProviderResponse',
    cacheKeyType: 'Image',
    auth: { 'example.com': { username: 'u', password: 'pass-word' } },
    ...over,
  });

class Scene {
  readonly clock = new FakeClock();
  readonly runs: PluginRun[] = [];
  readonly tokens: TokenRequest[] = [];
  readonly observed: [string, number, boolean][] = [];
  readonly log: string[] = [];
  output: (signal: AbortSignal) => Promise<string> = async () => answer();
  annotations: Record<string, string> = {};
  token = 'token-text';
  readonly provider: PluginProvider;

  constructor(over: Partial<PluginConfig> = {}) {
    this.provider = new PluginProvider({
      config: {
        name: 'ecr',
        apiVersion,
        matchImages: ['example.com', '*.example.org'],
        args: ['a'],
        env: [],
        ...over,
      },
      run: (run, signal) => {
        this.runs.push(run);
        return this.output(signal);
      },
      objects: {
        serviceAccount: async (namespace, name) => {
          if (name === 'gone') throw new KubeletError('not-found', 'NotFound', 'no such account');
          return { metadata: { namespace, name, uid: `uid-${name}`, annotations: this.annotations } };
        },
        serviceAccountToken: async (_namespace, _name, request) => {
          this.tokens.push(request);
          return { ...request, status: { token: this.token, expirationTimestamp: '' } };
        },
      },
      clock: this.clock,
      log: textLogger({
        write: (line) => void this.log.push(line),
        clock: this.clock,
        verbosity: new Verbosity(10),
        pid: 1,
      }),
      observe: (...args) => void this.observed.push(args),
    });
  }

  /** The credentials as `user@source`; empty if there are none. */
  async ask(
    image = 'example.com/team/app',
    pod: PodOver = {},
    { signal } = new AbortController(),
  ): Promise<string> {
    const found = await this.provider.provide(image, aPod(pod), signal);
    if (found === undefined) return '';
    return [...found.auth.values()]
      .map(({ username }) => `${username}@${found.source?.at.name ?? 'node'}`)
      .join(',');
  }
}

test('runs only for matching images, with name, arguments and request', async () => {
  const it = new Scene();
  expect([await it.ask('other.com/app'), it.runs.length]).toEqual(['', 0]);
  expect(await it.ask('a.example.org/app')).toBe('u@node');
  expect(it.runs[0]).toMatchObject({ name: 'ecr', args: ['a'], env: [] });
  expect(JSON.parse(it.runs[0]?.input.reveal() ?? '')).toEqual({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: 'a.example.org/app',
  });
});

test.each([
  ['Image', ['example.com/a', 'example.com/a', 'example.com/b', 'a.example.org/a'], 3],
  ['Registry', ['example.com/a', 'example.com/a', 'example.com/b', 'a.example.org/a'], 2],
  ['Global', ['example.com/a', 'example.com/a', 'example.com/b', 'a.example.org/a'], 1],
])('caches by %s', async (cacheKeyType, images, runs) => {
  const it = new Scene();
  it.output = async () => answer({ cacheKeyType, cacheDuration: '1h' });
  for (const image of images) expect(await it.ask(image)).toBe('u@node');
  expect(it.runs).toHaveLength(runs);
});

test.each([
  ["the response's duration", { cacheDuration: '10s' }, { ms: 60_000 }, 10_000],
  ['the default duration', {}, { ms: 60_000 }, 60_000],
])('caches for %s', async (_, over, defaultCacheDuration, ttlMs) => {
  const it = new Scene({ defaultCacheDuration });
  it.output = async () => answer(over);
  await it.ask();
  await it.clock.advance(ttlMs);
  await it.ask();
  expect(it.runs).toHaveLength(1);
  await it.clock.advance(1);
  await it.ask();
  expect(it.runs).toHaveLength(2);
});

test.each([
  ['no duration at all', {}, undefined],
  ['a duration of zero', { cacheDuration: '0s' }, { ms: 60_000 }],
])('does not cache with %s', async (_, over, defaultCacheDuration) => {
  const it = new Scene({ defaultCacheDuration });
  it.output = async () => answer(over);
  await it.ask();
  await it.ask();
  expect(it.runs).toHaveLength(2);
});

test('shares one run among concurrent equal requests, and continues if one is aborted', async () => {
  const it = new Scene();
  let finish: (text: string) => void = () => undefined;
  it.output = () => new Promise((resolve) => (finish = resolve));
  const gone = new AbortController();
  const first = it.ask('example.com/a', {}, gone).catch((err: Error) => err.name);
  const second = it.ask('example.com/a');
  await it.clock.settle();
  gone.abort(new Aborted('pod removed'));
  expect(await first).toBe('AbortError');
  finish(answer());
  expect([await second, it.runs.length]).toEqual(['u@node', 1]);
});

test('aborts a run that hangs after a minute', async () => {
  const it = new Scene();
  let aborted = false;
  it.output = (signal) =>
    new Promise(() => signal.addEventListener('abort', () => void (aborted = true), { once: true }));
  const asked = it.ask();
  await it.clock.advance(59_999);
  expect(aborted).toBe(false);
  await it.clock.advance(1);
  expect([await asked, aborted]).toEqual(['', true]);
  expect(it.observed).toEqual([['ecr', 60, true]]);
  expect(it.clock.pendingTimers()).toBe(0);
});

test.each([
  ['garbage', async () => 'pass-word {'],
  ['another version', async () => answer({ apiVersion: 'x/v2' })],
  ['unknown fields', async () => answer({ pass: 'pass-word' })],
  ['a failed run', () => Promise.reject(new Error('exit status 1'))],
])('returns no credentials after %s, and logs none', async (_, output) => {
  const it = new Scene();
  it.output = output;
  expect(await it.ask()).toBe('');
  expect(it.log.join('')).toContain('Failed to get credentials from credential provider plugin');
  expect(it.log.join('')).not.toContain('pass-word');
});

const attributes = {
  serviceAccountTokenAudience: 'aud',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ['need'],
  optionalServiceAccountAnnotationKeys: ['want'],
};
const cached = { defaultCacheDuration: { ms: 3_600_000 } };

test('passes a token of the service account', async () => {
  const it = new Scene({ tokenAttributes: attributes });
  it.annotations = { need: 'n', other: 'o' };
  const pod = { name: 'p', uid: 'u', namespace: 'ns', serviceAccountName: 'sa' };
  expect(await it.ask('example.com/a', pod)).toBe('u@sa');
  expect(it.tokens).toEqual([
    {
      metadata: { uid: 'uid-sa' },
      spec: { audiences: ['aud'], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' } },
    },
  ]);
  expect(JSON.parse(it.runs[0]?.input.reveal() ?? '')).toMatchObject({
    serviceAccountToken: 'token-text',
    serviceAccountAnnotations: { need: 'n' },
  });
  expect(it.log.join('')).not.toContain('token-text');
});

test.each([
  ['does not run for a pod without an account if one is required', {}, {}, 0, ''],
  [
    'runs without token for a pod without an account if none is required',
    { requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [] },
    {},
    1,
    'u@node',
  ],
  ['does not run for an account without a required annotation', {}, { serviceAccountName: 'sa' }, 0, ''],
  ['returns no credentials for an account that does not exist', {}, { serviceAccountName: 'gone' }, 0, ''],
])('%s', async (_, over, pod, runs, want) => {
  const it = new Scene({ tokenAttributes: { ...attributes, ...over } });
  expect([await it.ask('example.com/a', pod), it.runs.length]).toEqual([want, runs]);
});

test.each([
  ['ServiceAccount', 'another', 1],
  ['Token', 'another', 2],
  ['Token', 'token-text', 1],
])('with cache type %s and next token %s: %i runs', async (cacheType, next, runs) => {
  const it = new Scene({ tokenAttributes: { ...attributes, cacheType }, ...cached });
  it.annotations = { need: 'n' };
  await it.ask('example.com/a', { serviceAccountName: 'sa' });
  it.token = next;
  expect(await it.ask('example.com/a', { serviceAccountName: 'sa' })).toBe('u@sa');
  expect(it.runs).toHaveLength(runs);
});

test('does not share credentials between accounts, nor after annotations changed', async () => {
  const it = new Scene({ tokenAttributes: attributes, ...cached });
  it.annotations = { need: 'n' };
  await it.ask('example.com/a', { serviceAccountName: 'sa' });
  await it.ask('example.com/a', { serviceAccountName: 'sb' });
  it.annotations = { need: 'm' };
  await it.ask('example.com/a', { serviceAccountName: 'sa' });
  expect(it.runs).toHaveLength(3);
});

test.each([
  ['ServiceAccount', ''],
  ['Token', 'u@sa'],
])('a plugin that returns the token as password, with cache type %s', async (cacheType, want) => {
  const it = new Scene({ tokenAttributes: { ...attributes, cacheType } });
  it.annotations = { need: 'n' };
  it.output = async () => answer({ auth: { 'example.com': { username: 'u', password: 'token-text' } } });
  expect(await it.ask('example.com/a', { serviceAccountName: 'sa' })).toBe(want);
});
