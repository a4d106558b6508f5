import { describe, expect, test } from 'vitest';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { route } from './router.ts';

const handle = route([
  { kind: 'plain', path: '/healthz', handle: () => ({ status: 200, headers: {}, body: 'plain' }) },
  { kind: 'tree', path: '/logs/', handle: () => ({ status: 200, headers: {}, body: 'tree' }) },
  {
    kind: 'service',
    path: '/pods',
    methods: ['GET', 'POST'],
    produces: 'application/json',
    handle: () => ({ status: 200, headers: {}, body: 'service' }),
  },
]);

async function ask(line: string, headers: HttpRequest['headers'] = {}): Promise<HttpResponse> {
  const [method = '', target = ''] = line.split(' ');
  const [path = '', query = ''] = target.split('?');
  return await handle({ method, path, query: new URLSearchParams(query), headers });
}

const cases = [
  ['GET /healthz', 200, 'plain'],
  ['POST /healthz', 200, 'plain'],
  ['GET /healthz/', 404, '404 page not found\n'],
  ['GET /healthz/x', 404, '404 page not found\n'],
  ['GET /', 404, '404 page not found\n'],
  ['GET /nothing', 404, '404 page not found\n'],
  ['GET /logs/', 200, 'tree'],
  ['DELETE /logs/a/b', 200, 'tree'],
  ['GET /logs', 301, '<a href="/logs/">Moved Permanently</a>.\n\n'],
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

  test('a refused method is told which are taken', async () => {
    expect((await ask('PUT /pods')).headers['allow']).toBe('GET, POST');
  });

  test('a redirect says where to, with the query', async () => {
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

  test('what is not accepted says what there is', async () => {
    expect((await ask('GET /pods', { accept: ['text/html'] })).body).toBe(
      '406: Not Acceptable\n\nAvailable representations: application/json',
    );
  });
});
