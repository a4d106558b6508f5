import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { PageFiles } from './page-files.ts';
import type { PageFile } from './page-manifest.ts';

const file = (name: string, over: Partial<PageFile> = {}): PageFile => ({
  name,
  type: 'text/javascript; charset=utf-8',
  hash: 'ab12',
  bytes: 5,
  immutable: false,
  encodings: ['br', 'gzip'],
  ...over,
});

const files = [
  file('index.html', { type: 'text/html; charset=utf-8', encodings: ['gzip'] }),
  file('app.js'),
  file('chunk-ABCD1234.js', { immutable: true }),
];

function page(over: { built?: boolean } = {}) {
  const read: string[] = [];
  const clock = new FakeClock(0);
  const pages = new PageFiles({
    read: async (name) => {
      read.push(name);
      if (over.built === false) return undefined;
      return Buffer.from(name === 'manifest.json' ? JSON.stringify({ files }) : `content of ${name}`);
    },
    clock,
  });
  const get = async (name: string | undefined, headers = {}) => {
    const params: Record<string, string> = name === undefined ? {} : { file: name };
    const { body, ...answer } = await pages.handle({ headers, params });
    return { ...answer, text: Buffer.from(body as Uint8Array | string).toString() };
  };
  return { clock, get, pages, read };
}

describe('the files of the page', () => {
  test.each([
    [undefined, {}, 'index.html', undefined],
    ['index.html', {}, 'index.html', undefined],
    ['app.js', {}, 'app.js', undefined],
    ['app.js', { 'accept-encoding': 'gzip, deflate, br, zstd' }, 'app.js.br', 'br'],
    ['app.js', { 'accept-encoding': 'gzip, deflate' }, 'app.js.gz', 'gzip'],
    ['app.js', { 'accept-encoding': 'GZIP;q=0.5' }, 'app.js.gz', 'gzip'],
    ['app.js', { 'accept-encoding': 'br;q=0, gzip;q=0.000' }, 'app.js', undefined],
    ['app.js', { 'accept-encoding': ['deflate', 'br'] }, 'app.js.br', 'br'],
    // The proxy of the API server rewrites HTML, and knows only gzip.
    ['index.html', { 'accept-encoding': 'br, gzip' }, 'index.html.gz', 'gzip'],
  ])('%s with %j is %s', async (name, headers, want, encoding) => {
    const response = await page().get(name, headers);
    expect([response.status, response.text, response.headers['content-encoding']]).toEqual([
      200,
      `content of ${want}`,
      encoding,
    ]);
  });

  test('only files of the manifest are read', async () => {
    const { get, read } = page();
    for (const name of ['manifest.json', 'app.js.br', '../main.mjs', '..', '', 'constructor', '__proto__'])
      expect((await get(name)).status).toBe(404);
    expect(read).toEqual(['manifest.json']);
  });

  test('have strict headers', async () => {
    const { headers } = await page().get('index.html');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-cache',
      etag: 'W/"ab12"',
      vary: 'accept-encoding',
    });
  });

  test('a file with a hash in its name may be cached indefinitely', async () => {
    const { headers } = await page().get('chunk-ABCD1234.js');
    expect(headers['cache-control']).toBe('private, max-age=31536000, immutable');
  });

  test.each([
    ['"ab12"', 304],
    ['W/"ab12"', 304],
    ['W/"other", W/"ab12"', 304],
    ['W/"other"', 200],
    ['ab12', 200],
    ['*', 200],
  ])('If-None-Match: %s → %i', async (known, status) => {
    const { read, get } = page();
    const response = await get('app.js', { 'if-none-match': known });
    expect([response.status, response.text === '']).toEqual([status, status === 304]);
    expect(read.includes('app.js')).toBe(status === 200);
  });
});

test('a kubelet without a built page reports that', async () => {
  const response = await page({ built: false }).get('index.html');
  expect(response).toMatchObject({ status: 404, text: expect.stringContaining('not built') as string });
});

test('files are read once, and dropped after a minute without a request', async () => {
  const { clock, get, read } = page();
  expect(read).toEqual([]);
  await get('app.js');
  await clock.advance(59_000);
  await get('app.js');
  await clock.advance(59_000);
  await get('app.js');
  expect(read).toEqual(['manifest.json', 'app.js']);
  await clock.advance(60_000);
  await get('app.js');
  expect(read).toEqual(['manifest.json', 'app.js', 'manifest.json', 'app.js']);
});

test('no timer is left when it stops', async () => {
  const { clock, get, pages } = page();
  const stop = new AbortController();
  const { stopped } = await pages.start(stop.signal);
  await get('app.js');
  stop.abort();
  await stopped;
  await get('app.js');
  expect(clock.pendingTimers()).toBe(0);
});
