import { describe, expect, test } from 'vitest';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import type { HttpRequest, HttpResponse, RoutedRequest } from './http-message.ts';
import { route } from './router.ts';

const row = { name: 'x', class: 'always', subresource: 'proxy' } as const;
const respondWith = (what: string) => (): HttpResponse => ({ status: 200, headers: {}, body: what });
const respondWithParams = ({ params }: RoutedRequest): HttpResponse => respondWith(JSON.stringify(params))();

const routes = [
  { row: { ...row, kind: 'plain', path: '/healthz' }, handle: respondWith('plain') },
  { row: { ...row, kind: 'plain', path: '/healthz/{check}' }, handle: respondWithParams },
  { row: { ...row, kind: 'plain', path: '/off/' }, handle: respondWith('tree') },
  {
    row: {
      ...row,
      kind: 'service',
      path: '/pods',
      patterns: [''],
      methods: ['GET', 'POST'],
      produces: 'application/json',
    },
    handle: respondWith('service'),
  },
  {
    row: {
      ...row,
      kind: 'service',
      path: '/exec',
      patterns: ['/{ns}/{pod}/{container}', '/{ns}/{pod}/{uid}/{container}'],
      methods: ['GET'],
    },
    handle: respondWithParams,
  },
  {
    row: { ...row, kind: 'service', path: '/page/ui/', patterns: [''], methods: ['GET'], relative: true },
    handle: respondWith('page'),
  },
  {
    row: { ...row, kind: 'service', path: '/logs/', patterns: ['', '/{logpath:*}'], methods: ['GET'] },
    handle: respondWithParams,
  },
] as const;
const handle = route(routes);

async function ask(line: string, headers: HttpRequest['headers'] = {}): Promise<HttpResponse> {
  return asResponse(await handle(httpRequest(line, { headers })));
}

const cases = [
  ['GET /healthz', 200, 'plain'],
  ['POST /healthz', 200, 'plain'],
  ['GET /healthz/', 404, '404 page not found\n'],
  ['PUT /healthz/x', 200, '{"check":"x"}'],
  ['GET /healthz/x/', 404, '404 page not found\n'],
  ['GET /healthz/x/y', 404, '404 page not found\n'],
  ['GET /', 404, '404 page not found\n'],
  ['GET /nothing', 404, '404 page not found\n'],
  ['GET /off/', 200, 'tree'],
  ['DELETE /off/a/b', 200, 'tree'],
  ['GET /off', 301, '<a href="/off/">Moved Permanently</a>.\n\n'],
  ['GET /logs/', 200, '{}'],
  ['GET /logs/a/b', 200, '{"logpath":"a/b"}'],
  ['POST /logs/a', 405, '405: Method Not Allowed'],
  ['GET /exec', 404, '404: Page Not Found'],
  ['GET /exec/a/b', 404, '404: Page Not Found'],
  ['GET /exec/a/b/c', 200, '{"ns":"a","pod":"b","container":"c"}'],
  ['GET /exec/a/b/c/', 200, '{"ns":"a","pod":"b","container":"c"}'],
  ['GET /exec/a/b/u/c', 200, '{"ns":"a","pod":"b","uid":"u","container":"c"}'],
  ['GET /exec/a/b/u/c/d', 404, '404: Page Not Found'],
  ['GET /execs', 404, '404 page not found\n'],
  ['GET /logs', 301, '<a href="/logs/">Moved Permanently</a>.\n\n'],
  ['GET /page/ui', 301, '<a href="ui/">Moved Permanently</a>.\n\n'],
  ['GET /logs?a=1&b=2', 301, '<a href="/logs/?a=1&amp;b=2">Moved Permanently</a>.\n\n'],
  ['GET /pods', 200, 'service'],
  ['GET /pods/', 200, 'service'],
  ['POST /pods', 200, 'service'],
  ['GET /pods/x', 404, '404: Page Not Found'],
  ['GET /podsx', 404, '404 page not found\n'],
  ['HEAD /pods', 405, '405: Method Not Allowed'],
  ['DELETE /pods', 405, '405: Method Not Allowed'],
  ['GET //pods', 301, '<a href="/pods">Moved Permanently</a>.\n\n'],
  ['GET /a/../pods/./', 301, '<a href="/pods/">Moved Permanently</a>.\n\n'],
  ['GET /../..', 301, '<a href="/">Moved Permanently</a>.\n\n'],
  ['GET /a//<b>', 301, '<a href="/a/%3Cb%3E">Moved Permanently</a>.\n\n'],
] as const;

describe('route', () => {
  for (const [line, status, body] of cases) {
    test(line, async () => expect(await ask(line)).toMatchObject({ status, body }));
  }

  test('lists the allowed methods in a 405', async () => {
    expect((await ask('PUT /pods')).headers['allow']).toBe('GET, POST');
  });

  test('redirects with the query', async () => {
    expect((await ask('GET //logs?x=1')).headers['location']).toBe('/logs?x=1');
  });

  const accepts = [
    [undefined, 200],
    ['', 200],
    ['*/*', 200],
    ['application/json', 200],
    ['text/html, application/json;q=0.9', 200],
    ['text/html,*/*;q=0.1', 200],
    ['text/html', 406],
    ['application/*', 406],
  ] as const;
  for (const [accept, status] of accepts) {
    test(`Accept: ${accept}`, async () => {
      expect((await ask('GET /pods', { accept })).status).toBe(status);
    });
  }

  test('lists the available content types in a 406', async () => {
    expect((await ask('GET /pods', { accept: ['text/html'] })).body).toBe(
      '406: Not Acceptable\n\nAvailable representations: application/json',
    );
  });

  test('rejects before any other error, except for unknown paths', async () => {
    const asked: string[] = [];
    const guarded = route(routes, async ({ path }, { path: root }) => {
      asked.push(`${path} ${root}`);
      return { status: 401, headers: {}, body: 'Unauthorized' };
    });
    const codes: number[] = [];
    for (const line of [
      'GET /healthz',
      'PUT /pods',
      'GET /exec/a',
      'GET /nothing',
      'GET /logs',
      'GET //pods',
    ]) {
      codes.push(asResponse(await guarded(httpRequest(line))).status);
    }
    expect(codes).toEqual([401, 401, 401, 404, 301, 301]);
    expect(asked).toEqual(['/healthz /healthz', '/pods /pods', '/exec/a /exec']);
  });
});
