// Against real servers on loopback.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { PodHttpRequest } from '../../api/ports/probe-requests.ts';
import { hookHttp } from './hook-http.ts';

let leaks: LeakCheck;
let servers: Server[] = [];

beforeEach(() => {
  leaks = checkLeaks();
});

afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  servers = [];
  await leaks.assertNone();
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const { signal } = new AbortController();
const get = (port: number, over: Partial<PodHttpRequest> = {}): PodHttpRequest => ({
  scheme: 'http',
  host: '127.0.0.1',
  port,
  path: '/',
  headers: [],
  ...over,
});

test('succeeds with any response and sends the headers as given', async () => {
  const seen: unknown[] = [];
  const at = await serve((request, response) => {
    seen.push(request.url, request.headers['x-a'], request.headers.host);
    response.writeHead(500).end('x'.repeat(100_000));
  });
  const headers = [
    ['X-A', '1'],
    ['X-A', '2'],
    ['Host', 'example.test'],
  ] as const;
  await hookHttp(get(at, { path: '/p?q', headers }), signal);
  expect(seen).toEqual(['/p?q', '1, 2', 'example.test']);
});

test('follows redirects within the host only', async () => {
  const seen: string[] = [];
  const at = await serve((request, response) => {
    seen.push(request.url ?? '');
    const location = request.url === '/a' ? '/b' : 'http://other.invalid/c';
    response.writeHead(302, { location }).end();
  });
  await hookHttp(get(at, { path: '/a' }), signal);
  expect(seen).toEqual(['/a', '/b']);
});

test('fails for endless redirects', async () => {
  const at = await serve((_request, response) => void response.writeHead(302, { location: '/' }).end());
  await expect(hookHttp(get(at), signal)).rejects.toThrow('stopped after 10 redirects');
});

test('fails with HttpInsteadOfTls if the server speaks plain HTTP', async () => {
  const at = await serve((_request, response) => void response.end());
  await expect(hookHttp(get(at, { scheme: 'https' }), signal)).rejects.toMatchObject({
    reason: 'HttpInsteadOfTls',
  });
});

test("reports a refused connection in upstream's words, and an abort as an abort", async () => {
  await expect(hookHttp(get(1, { path: '/x' }), signal)).rejects.toMatchObject({
    reason: 'HttpFailed',
    message: 'Get "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
  });
  await expect(hookHttp(get(1, { host: '::1' }), signal)).rejects.toMatchObject({
    message: expect.stringMatching(/^Get "http:\/\/\[::1\]:1\/": dial tcp \[::1\]:1: connect: /),
  });
  const stop = new AbortController();
  const at = await serve(() => stop.abort());
  await expect(hookHttp(get(at), stop.signal)).rejects.toMatchObject({
    name: 'AbortError',
  });
});

describe('requests that cannot be sent fail and leave no connection', () => {
  for (const [name, over] of [
    ['a header value with a line break', { headers: [['X', 'a\nb']] }],
    ['a header value with a zero', { headers: [['X', 'a\u0000b']] }],
    ['a Host header with a line break', { headers: [['Host', 'a\r\nX: y']] }],
    ['a header name with a blank', { headers: [['X Y', 'a']] }],
    ['an empty header name', { headers: [['', 'a']] }],
  ] as const) {
    test(name, async () => {
      const at = await serve((_request, response) => void response.end());
      await expect(hookHttp(get(at, over), signal)).rejects.toMatchObject({ reason: 'HttpFailed' });
      expect(process.getActiveResourcesInfo()).not.toContain('TCPSocketWrap');
    });
  }
});

describe('unusual requests are sent as Go sends them', () => {
  test('omits headers that describe the body, and sends any character in a value', async () => {
    let seen: unknown;
    const at = await serve((request, response) => {
      seen = request.headers;
      response.end();
    });
    const headers = [
      ['Content-Length', '9'],
      ['Transfer-Encoding', 'chunked'],
      ['Trailer', 'X'],
      ['N', 'ä'],
    ] as const;
    await hookHttp(get(at, { headers }), signal);
    const n = Buffer.from('ä', 'utf8').toString('latin1');
    expect(seen).toEqual({ host: `127.0.0.1:${at}`, n, connection: 'close' });
  });
  test('keeps dots in the path and escapes what a request line cannot contain', async () => {
    const seen: (string | undefined)[] = [];
    const at = await serve((request, response) => {
      seen.push(request.url);
      response.end();
    });
    for (const path of ['/a/../b', '/a b\r\nX: y', 'x#y', '/%zz']) await hookHttp(get(at, { path }), signal);
    expect(seen).toEqual(['/a/../b', '/a%20b%0D%0AX:%20y', '/x', '/%zz']);
  });
});

describe('duration of a hook', () => {
  test('waits for a silent server before and within its response until aborted', async () => {
    for (const head of ['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx']) {
      const stop = new AbortController();
      const at = await serve((request) => {
        request.socket.write(head, () => stop.abort());
      });
      await expect(hookHttp(get(at), stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
    }
  });
  test('does not wait for a large body', async () => {
    const at = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 10_241 }).flushHeaders();
    });
    await hookHttp(get(at), signal);
  });
});
