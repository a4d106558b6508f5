// Against servers on loopback, real ones.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../testing/leaks.ts';
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

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const { signal } = new AbortController();

test('any answer is enough, and headers arrive as given', async () => {
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
  await hookHttp({ url: `http://${at}/p?q`, headers }, signal);
  expect(seen).toEqual(['/p?q', '1, 2', 'example.test']);
});

test('redirects are followed on the same host only', async () => {
  const seen: string[] = [];
  const at = await serve((request, response) => {
    seen.push(request.url ?? '');
    const location = request.url === '/a' ? '/b' : 'http://other.invalid/c';
    response.writeHead(302, { location }).end();
  });
  await hookHttp({ url: `http://${at}/a`, headers: [] }, signal);
  expect(seen).toEqual(['/a', '/b']);
});

test('a circle of redirects ends', async () => {
  const at = await serve((_request, response) => void response.writeHead(302, { location: '/' }).end());
  await expect(hookHttp({ url: `http://${at}/`, headers: [] }, signal)).rejects.toThrow(
    'stopped after 10 redirects',
  );
});

test('plain HTTP where TLS was asked for has a reason of its own', async () => {
  const at = await serve((_request, response) => void response.end());
  await expect(hookHttp({ url: `https://${at}/`, headers: [] }, signal)).rejects.toMatchObject({
    reason: 'HttpInsteadOfTls',
  });
});

test('nobody there is a failure in upstream’s words; an abort is an abort', async () => {
  await expect(hookHttp({ url: 'http://127.0.0.1:1/x', headers: [] }, signal)).rejects.toMatchObject({
    reason: 'HttpFailed',
    message: 'Get "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
  });
  await expect(hookHttp({ url: 'http://[::1]:1/', headers: [] }, signal)).rejects.toMatchObject({
    message: expect.stringMatching(/^Get "http:\/\/\[::1\]:1\/": dial tcp \[::1\]:1: connect: /),
  });
  const stop = new AbortController();
  const at = await serve(() => stop.abort());
  await expect(hookHttp({ url: `http://${at}/`, headers: [] }, stop.signal)).rejects.toMatchObject({
    name: 'AbortError',
  });
});
