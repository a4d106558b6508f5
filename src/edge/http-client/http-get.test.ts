// Against real servers on loopback.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { isAbort, isKind } from '../../base/errors.ts';
import { pour } from '../probe/fixtures/hostile-http.ts';
import { certificate as cert, key } from '../probe/fixtures/self-signed.ts';
import { closeServers, listen as listenTcp } from '../probe/fixtures/servers.ts';
import { type HttpGetAnswer, type HttpGetRequest, httpGet } from './http-get.ts';

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
  await closeServers();
  await leaks.assertNone();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(server: Server, scheme = 'http'): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serve(handler: Handler): Promise<string> {
  return await listen(createServer(handler));
}

async function get(url: string, options: Partial<HttpGetRequest> = {}): Promise<HttpGetAnswer> {
  const signal = new AbortController().signal;
  return await httpGet({ url, headers: {}, limitBytes: 1000, timeoutMs: 5000, signal, ...options });
}

async function failure(answer: Promise<unknown>): Promise<unknown> {
  return await answer.then(
    () => 'no failure',
    (err: unknown) => err,
  );
}

function text(answer: HttpGetAnswer): string {
  return Buffer.from(answer.body).toString();
}

describe('httpGet', () => {
  test('returns status and body', async () => {
    const url = await serve((_request, response) => response.writeHead(418).end('short and stout'));
    const answer = await get(url);
    expect(answer.status).toBe(418);
    expect(text(answer)).toBe('short and stout');
  });

  test('sends headers with all their values', async () => {
    const url = await serve((request, response) => {
      const index = request.rawHeaders.flatMap((name, at) =>
        name === 'X-A' ? [request.rawHeaders[at + 1]] : [],
      );
      response.end(index.join(','));
    });
    expect(text(await get(url, { headers: { 'X-A': ['1', '2'] } }))).toBe('1,2');
  });

  test('sends the credentials of the URL', async () => {
    const url = await serve((request, response) => response.end(request.headers.authorization));
    const basic = Buffer.from('user:secret').toString('base64');
    expect(text(await get(url.replace('//', '//user:secret@')))).toBe(`Basic ${basic}`);
  });

  for (const status of [301, 302, 303, 307, 308])
    test(`follows a redirect with ${status}, relative or absolute`, async () => {
      const url = await serve((request, response) => {
        if (request.url === '/there') response.end('there');
        else if (request.url === '/once') response.writeHead(status, { location: '/there' }).end();
        else response.writeHead(status, { location: `${url}/once` }).end('not this');
      });
      expect(text(await get(url))).toBe('there');
    });

  test('returns a redirect without a Location as it is', async () => {
    const url = await serve((_request, response) => response.writeHead(302).end('where?'));
    expect((await get(url)).status).toBe(302);
  });

  test('sends sensitive headers to the same host only after a redirect', async () => {
    const seen: (string | undefined)[] = [];
    const there = await serve((request, response) => {
      seen.push(request.headers['x-a'] as string, request.headers.authorization);
      response.end();
    });
    const other = there.replace('127.0.0.1', 'localhost');
    const url = await serve((request, response) =>
      response.writeHead(302, { location: request.url === '/same' ? there : other }).end(),
    );
    const headers = { 'X-A': ['1'], Authorization: ['Bearer t'] };
    await get(`${url}/same`, { headers });
    await get(`${url}/other`, { headers });
    expect(seen).toEqual(['1', 'Bearer t', '1', undefined]);
  });

  test('returns a body of exactly the limit', async () => {
    const url = await serve((_request, response) => response.end('x'.repeat(1000)));
    expect((await get(url)).body).toHaveLength(1000);
  });
});

describe('httpGet fails', () => {
  test('on a response above the limit, without waiting for its end', async () => {
    const url = await serve((_request, response) => {
      response.write('x'.repeat(2000));
    });
    const err = await failure(get(url));
    expect(isKind(err, 'invalid')).toBe(true);
    expect(String(err)).toContain('larger than 1000 bytes');
  });

  test('on endless informational responses, headers and trailers', async () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n';
    for (const [head, piece, message] of [
      ['', 'HTTP/1.1 102 Processing\r\n\r\n', /too many 1xx informational responses/],
      ['HTTP/1.1 200 OK\r\n', 'X: y\r\n', /the request failed|headers exceeded/],
      [chunked, 'X: y\r\n', /./],
    ] as const) {
      const port = await listenTcp(
        createTcpServer((socket) => pour(head, piece)(socket.on('error', () => undefined))),
      );
      expect(await failure(get(`http://127.0.0.1:${port}`, { timeoutMs: 600_000 }))).toMatchObject({
        message: expect.stringMatching(message),
      });
    }
  });

  test('on endless redirects', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/' }).end();
    });
    expect(String(await failure(get(url)))).toContain('redirected more than 10 times');
    expect(requests).toBe(11);
  });

  const slow: readonly (readonly [string, Handler])[] = [
    ['never responds', () => undefined],
    ['never ends its response', (_request, response) => response.write('x')],
    [
      'responds byte by byte',
      (_request, response) => {
        const timer = setInterval(() => response.write('x'), 10);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ];
  for (const [name, handler] of slow)
    test(`at the deadline if the server ${name}`, async () => {
      const url = await serve(handler);
      const err = await failure(get(url, { timeoutMs: 100 }));
      expect(isKind(err, 'timeout')).toBe(true);
    });

  test('with an abort if the signal is aborted', async () => {
    const giveUp = new AbortController();
    const url = await serve(() => giveUp.abort());
    expect(isAbort(await failure(get(url, { signal: giveUp.signal })))).toBe(true);
  });

  test('if the connection is refused or closed', async () => {
    const url = await serve((request) => request.socket.destroy());
    expect(isKind(await failure(get(url)), 'unavailable')).toBe(true);
    expect(isKind(await failure(get('http://127.0.0.1:1/')), 'unavailable')).toBe(true);
  });

  test('if the response is truncated', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x');
      setImmediate(() => response.destroy());
    });
    expect(isKind(await failure(get(url)), 'unavailable')).toBe(true);
  });

  for (const bad of ['nothing', 'ftp://127.0.0.1/', 'file:///etc/passwd'])
    test(`on ${bad}`, async () => expect(isKind(await failure(get(bad)), 'invalid')).toBe(true));

  test('on a redirect to another protocol', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    );
    expect(isKind(await failure(get(url)), 'invalid')).toBe(true);
  });
});

describe('httpGet over TLS', () => {
  let directory = '';
  const before = process.env['SSL_CERT_FILE'];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'http-get-'));
  });

  afterEach(async () => {
    if (before === undefined) delete process.env['SSL_CERT_FILE'];
    else process.env['SSL_CERT_FILE'] = before;
    await rm(directory, { recursive: true, force: true });
  });

  test("trusts the machine's roots only", async () => {
    const server = createTlsServer({ key, cert }, (_request, response) => response.end('secret'));
    const url = await listen(server, 'https');
    expect(isKind(await failure(get(url)), 'unavailable')).toBe(true);
    process.env['SSL_CERT_FILE'] = join(directory, 'roots.pem');
    await writeFile(join(directory, 'roots.pem'), cert);
    expect(text(await get(url))).toBe('secret');
  });
});
