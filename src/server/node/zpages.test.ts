import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asResponse, bodyText, httpRequest } from '../fixtures/requests.ts';
import type { HttpResponse } from '../http-message.ts';
import { flagzHandler, statuszHandler } from './zpages.ts';

const statusz = statuszHandler({
  startedAtMs: Date.UTC(2026, 0, 1, 4, 5, 6, 700),
  now: () => Date.UTC(2026, 0, 2, 5, 7, 9, 600),
  versions: { node: 'v24.1.0', binary: 'v1.37.0+ts.0.1.0', emulation: '1.37' },
  paths: () => ['/configz', '/metrics'],
});
const flagz = flagzHandler(() => [
  ['eviction-hard', 'nodefs.available<5%'],
  ['max-pods', '110'],
]);

type Headers = Readonly<Record<string, string | undefined>>;

async function get(
  page: '/statusz' | '/flagz',
  headers: Headers,
  query = '',
): Promise<HttpResponse & { readonly body: string }> {
  const handle = page === '/flagz' ? flagz : statusz;
  const answer = asResponse(await handle({ ...httpRequest(`GET ${page}${query}`, { headers }), params: {} }));
  return { ...answer, body: await bodyText(answer) };
}

const beta = 'g=config.k8s.io;v=v1beta1';
const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

describe('text', () => {
  test("/statusz has upstream's lines", async () => {
    const { body, headers, status } = await get('/statusz', {});
    expect(status).toBe(200);
    expect(headers).toEqual({ 'content-type': 'text/plain; charset=utf-8' });
    expect(body).toBe(`
kubelet statusz
${warning}

Started: Thu Jan  1 04:05:06 UTC 2026
Up: 25 hr 02 min 03 sec
Go version: node v24.1.0
Binary version: 1.37.0+ts.0.1.0
Emulation version: 1.37
Paths: /configz /metrics
`);
  });
  test("/flagz has upstream's lines", async () => {
    expect((await get('/flagz', {})).body).toBe(
      `\nkubelet flagz\n${warning}\neviction-hard=nodefs.available<5%\nmax-pods=110\n`,
    );
  });
  test.each([
    undefined,
    '',
    ' ',
    '*/*',
    '*',
    'text/plain',
    'text/*',
    'text/plain;charset=UTF-8;version=0.0.4',
  ])('for Accept: %j', async (accept) => {
    expect((await get('/flagz', { accept })).headers['content-type']).toBe('text/plain; charset=utf-8');
  });
});

describe('structured', () => {
  test('/statusz as JSON', async () => {
    const { body, headers, status } = await get('/statusz', {
      accept: `application/json;as=Statusz;${beta}`,
    });
    expect(status).toBe(200);
    expect(headers).toEqual({ 'content-type': `application/json;${beta};as=Statusz` });
    expect(body).toBe(
      '{"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kubelet"},"startTime":"2026-01-01T04:05:06Z","uptimeSeconds":90123,"goVersion":"node v24.1.0","binaryVersion":"1.37.0+ts.0.1.0","emulationVersion":"1.37","paths":["/configz","/metrics"]}\n',
    );
  });
  test('/statusz as YAML: strings that look like other types are quoted', async () => {
    const { body, headers } = await get('/statusz', { accept: `application/yaml;as=Statusz;${beta}` });
    expect(headers).toEqual({ 'content-type': `application/yaml;${beta};as=Statusz` });
    expect(body).toBe(`apiVersion: config.k8s.io/v1beta1
binaryVersion: 1.37.0+ts.0.1.0
emulationVersion: "1.37"
goVersion: node v24.1.0
kind: Statusz
metadata:
  name: kubelet
paths:
- /configz
- /metrics
startTime: "2026-01-01T04:05:06Z"
uptimeSeconds: 90123
`);
  });
  test('/flagz as JSON, escaped as Go does', async () => {
    const { body } = await get('/flagz', { accept: `application/json;as=Flagz;${beta}` });
    expect(body).toBe(
      '{"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kubelet"},"flags":{"eviction-hard":"nodefs.available\\u003c5%","max-pods":"110"}}\n',
    );
  });
  test.each([
    ['/flagz', 'Flagz', 'flagz'],
    ['/statusz', 'Statusz', 'statusz'],
  ] as const)('%s of v1alpha1 comes with a warning', async (page, kind, name) => {
    const accept = `application/json;as=${kind};v=v1alpha1;g=config.k8s.io`;
    const { body, headers } = await get(page, { accept });
    expect(headers['warning']).toBe(
      `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`,
    );
    expect(JSON.parse(body)).toMatchObject({ kind, apiVersion: 'config.k8s.io/v1alpha1' });
  });
  test.each([
    [`*/*;as=Flagz;${beta}`, 'application/json'],
    [`application/*;as=Flagz;${beta}`, 'application/json'],
    [`text/plain;q=0.5, application/yaml;as=Flagz;${beta};q=0.9`, 'application/yaml'],
    [`application/json, application/yaml;as=Flagz;${beta}`, 'application/yaml'],
    [`*/*, application/json;as=Flagz;${beta}`, 'application/json'],
    [`application/json;as=Flagz;g=config.k8s.io;v=v2, application/json;as=Flagz;${beta}`, 'application/json'],
    [`application/json;as=Flagz;g=config.k8s.io;v=v2, text/plain`, 'text/plain'],
    [`application/json;as=Flagz;${beta};q=x, text/plain`, 'text/plain'],
  ])('Accept: %s gets %s', async (accept, type) => {
    const { headers, status } = await get('/flagz', { accept });
    expect([status, headers['content-type']?.toString().split(';')[0]]).toEqual([200, type]);
  });
  test.each([
    ['', {}, false],
    ['', { 'user-agent': 'curl/8' }, true],
    ['?pretty=true', {}, true],
    ['?pretty=0', { 'user-agent': 'curl/8' }, false],
  ])('indented for %s %j: %s', async (query, headers, indented) => {
    const accept = `application/json;as=Flagz;${beta}`;
    const { body } = await get('/flagz', { ...headers, accept }, query);
    expect(body.startsWith('{\n  "kind": "Flagz"')).toBe(indented);
    expect(body.endsWith('\n')).toBe(!indented);
  });
});

describe('not acceptable', () => {
  const message =
    'only the following media types are accepted: application/json, application/yaml, text/plain';
  const failure = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'NotAcceptable',
    code: 406,
  };
  test.each([
    'application/json',
    'application/*',
    'text/html',
    'application/json;as=Flagz',
    `application/json;as=Statusz;${beta}`,
    'application/json;as=Flagz;v=v1;g=config.k8s.io',
    'application/json;as=Flagz;v=v1beta1;g=apps',
    `application/json;as=Flagz;${beta};stream=watch`,
    `application/cbor;as=Flagz;${beta}`,
    `application/vnd.kubernetes.protobuf;as=Flagz;${beta}`,
    `text/plain;as=Flagz;${beta}`,
    ';;==,/',
    ','.repeat(60_000),
  ])('Accept: %.60s', async (accept) => {
    const { body, headers, status } = await get('/flagz', { accept });
    expect([status, headers]).toEqual([406, { 'content-type': 'application/json' }]);
    expect(JSON.parse(body)).toEqual(failure);
  });
  test('a client that wants YAML gets the failure as YAML', async () => {
    const { body, headers, status } = await get('/flagz', { accept: 'application/yaml' });
    expect([status, headers]).toEqual([406, { 'content-type': 'application/yaml' }]);
    expect(parse(body)).toEqual(failure);
  });
});
