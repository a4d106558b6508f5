// Against real servers on loopback: well-behaved, slow, redirecting, endless, broken.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { HttpProbeRequest, ProbeAnswer } from '../../api/ports/probe-requests.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import { certificate, key } from './fixtures/self-signed.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { httpProbe } from './http-probe.ts';

let leaks: LeakCheck;
beforeEach(() => {
  leaks = checkLeaks();
});
afterEach(async () => {
  await closeServers();
  await leaks.assertNone();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const serve = (handler: Handler): Promise<number> => listen(createServer(handler));
/** A server on a raw socket. */
const raw = (handler: (socket: Socket) => void): Promise<number> =>
  listen(createTcpServer((socket) => handler(socket.on('error', () => undefined))));

const signal = new AbortController().signal;
const probe = (port: number, over: Partial<HttpProbeRequest> = {}): Promise<ProbeAnswer> =>
  httpProbe(
    { scheme: 'http', host: '127.0.0.1', port, path: '/', headers: [], timeoutMs: 5_000, ...over },
    over.timeoutMs === undefined ? signal : new AbortController().signal,
  );

describe('status', () => {
  for (const [status, result] of [
    [200, 'success'],
    [204, 'success'],
    [299, 'success'],
    [304, 'warning'],
    [399, 'warning'],
    [400, 'failure'],
    [404, 'failure'],
    [500, 'failure'],
  ] as const) {
    test(`${status} is ${result}`, async () => {
      const port = await serve((_request, response) => response.writeHead(status).end());
      const output =
        result === 'failure' ? `HTTP probe failed with statuscode: ${status}` : expect.any(String);
      expect(await probe(port)).toEqual({ result, output });
    });
  }
  test('a failure does not contain the body', async () => {
    const port = await serve((_request, response) => response.writeHead(500).end('secret'));
    expect((await probe(port)).output).not.toContain('secret');
  });
  test('101 is failure', async () => {
    const port = await raw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    );
    expect(await probe(port)).toEqual({
      result: 'failure',
      output: 'HTTP probe failed with statuscode: 101',
    });
  });
});

describe('request', () => {
  let seen: IncomingMessage;
  const record: Handler = (request, response) => {
    seen = request;
    response.end('body');
  };
  test('is a GET on a separate connection without Accept-Encoding', async () => {
    const port = await serve(record);
    expect(await probe(port, { path: '/a/../b?c=d#e', headers: [['Accept', '*/*']] })).toEqual({
      result: 'success',
      output: 'body',
    });
    expect([seen.method, seen.url]).toEqual(['GET', '/a/../b?c=d']);
    expect(seen.headers).toEqual({ host: `127.0.0.1:${port}`, accept: '*/*', connection: 'close' });
  });
  test('sends repeated headers, a given Host and any character', async () => {
    const headers = [
      ['X', '1'],
      ['x', '2'],
      ['Host', 'shop.example'],
      ['N', 'ä'],
      ['User-Agent', ''],
    ] as const;
    await probe(await serve(record), { headers });
    expect(seen.headers).toEqual({
      host: 'shop.example',
      x: '1, 2',
      n: Buffer.from('ä', 'utf8').toString('latin1'),
      connection: 'close',
    });
  });
  for (const [path, want] of [
    ['', '/'],
    ['x', '/x'],
    ['/ä b', '/%C3%A4%20b'],
    ['/a%20b', '/a%20b'],
    ['http://other/x', '/x'],
  ] as const) {
    test(`path '${path}' is sent as ${want}`, async () => {
      await probe(await serve(record), { path });
      expect(seen.url).toBe(want);
    });
  }
  test("does not use the environment's proxy", async () => {
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = 'http://127.0.0.1:1';
    try {
      expect(await probe(await serve(record))).toMatchObject({ result: 'success' });
    } finally {
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    }
  });
  test('fails for a header that cannot be sent', async () => {
    const answer = await probe(await serve(record), { headers: [['X', 'a\nb']] });
    expect(answer).toMatchObject({ result: 'failure', output: expect.stringContaining('Get "http://') });
  });
  test('does not verify the TLS certificate', async () => {
    const port = await listen(createTlsServer({ key, cert: certificate }, record));
    expect(await probe(port, { scheme: 'https' })).toEqual({ result: 'success', output: 'body' });
  });
  test('fails if the server does not speak TLS', async () => {
    const port = await serve(record);
    expect(await probe(port, { scheme: 'https' })).toEqual({
      result: 'failure',
      output: `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`,
    });
  });
});

describe('redirects', () => {
  /** `/n` redirects to `/n-1`, `/0` responds. */
  const countdown: Handler = (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end(`host ${request.headers.host}, referer ${request.headers.referer}`);
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  };
  test('are followed within the host, with the given Host header', async () => {
    const port = await serve(countdown);
    expect(await probe(port, { path: '/2', headers: [['Host', 'h']] })).toEqual({
      result: 'success',
      output: `host h, referer http://127.0.0.1:${port}/1`,
    });
  });
  test('are followed to another port of the host', async () => {
    const other = await serve((_request, response) => response.end('there'));
    const port = await serve((_request, response) =>
      response.writeHead(301, { location: `http://127.0.0.1:${other}/x` }).end(),
    );
    expect(await probe(port)).toEqual({ result: 'success', output: 'there' });
  });
  test('are followed nine times, not ten', async () => {
    const port = await serve(countdown);
    expect((await probe(port, { path: '/9' })).result).toBe('success');
    expect(await probe(port, { path: '/10' })).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/0": stopped after 10 redirects`,
    });
  });
  test('to another host are not followed and count as a warning with the body', async () => {
    const port = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://192.0.2.1/' }).end('go there'),
    );
    const output = 'Probe terminated redirects, Response body: go there';
    expect(await probe(port)).toEqual({ result: 'warning', output });
  });
  test('without a Location count as a warning', async () => {
    const port = await serve((_request, response) => response.writeHead(302).end());
    expect((await probe(port)).result).toBe('warning');
  });
  test('with an invalid Location count as a failure', async () => {
    const port = await serve((_request, response) => response.writeHead(302, { location: 'http://[' }).end());
    expect(await probe(port)).toMatchObject({
      result: 'failure',
      output: expect.stringContaining('Location'),
    });
  });
});

describe('misbehaving servers', () => {
  test('accepts lines without carriage return, as small CGI servers send them', async () => {
    const port = await raw((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\nX: y\n\nfine')),
    );
    expect(await probe(port)).toEqual({ result: 'success', output: 'fine' });
  });
  test('fails if the connection is refused', async () => {
    const port = await serve(() => undefined);
    await closeServers();
    expect(await probe(port)).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });
  test('fails if the server does not respond in time', async () => {
    const port = await serve(() => undefined);
    expect(await probe(port, { timeoutMs: 50 })).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      timedOut: true,
    });
  });
  test('reads the first 10 KiB of an endless body', async () => {
    const port = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pour = (): void => {
        while (!socket.destroyed && socket.write('x'.repeat(4_096)));
      };
      socket.on('drain', pour);
      pour();
    });
    const answer = await probe(port);
    expect([answer.result, answer.output.length]).toEqual(['success', 10_240]);
  });
  const broken = (reason: string): unknown =>
    expect.objectContaining({ reason: 'ProbeBodyFailed', message: reason });
  test('errors if the body stalls', async () => {
    const port = await raw((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'));
    await expect(probe(port, { timeoutMs: 50 })).rejects.toEqual(
      broken('context deadline exceeded (Client.Timeout or context cancellation while reading body)'),
    );
  });
  test('errors if the body is truncated', async () => {
    const port = await raw((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'));
    const err = await probe(port).catch((each: unknown) => each);
    expect(err).toBeInstanceOf(KubeletError);
    expect(err).toEqual(broken('unexpected EOF'));
  });
  test('fails if the server closes the connection', async () => {
    const port = await raw((socket) => socket.once('data', () => socket.end()));
    expect(await probe(port)).toEqual({ result: 'failure', output: `Get "http://127.0.0.1:${port}/": EOF` });
  });
  test('fails if the server resets the connection', async () => {
    const port = await raw((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await probe(port)).toEqual({
      result: 'failure',
      output: `Get "http://127.0.0.1:${port}/": read: connection reset by peer`,
    });
  });
  test('fails for an invalid response', async () => {
    const port = await raw((socket) => socket.end('\u0000\u0001 not HTTP at all\r\n\r\n'));
    expect(await probe(port)).toMatchObject({
      result: 'failure',
      output: expect.stringContaining('malformed HTTP response'),
    });
  });
  test('rejects when aborted and closes the connection', async () => {
    const stop = new AbortController();
    const port = await serve(() => stop.abort());
    const probe = httpProbe(
      { scheme: 'http', host: '127.0.0.1', port, path: '/', headers: [], timeoutMs: 5_000 },
      stop.signal,
    );
    expect(isAbort(await probe.catch((err: unknown) => err))).toBe(true);
  });
});
