import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { HttpRequest } from '../../api/ports/http.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { type HttpListener, type ListenHttpOptions, listenHttp } from './listen-http.ts';

let leaks: LeakCheck;
let open: { close(): Promise<void> | void }[] = [];
let seen: HttpRequest[] = [];
let errors: unknown[] = [];

beforeEach(() => {
  leaks = checkLeaks();
  open = [];
  seen = [];
  errors = [];
});

afterEach(async () => {
  for (const each of open.toReversed()) await each.close();
  await leaks.assertNone();
});

async function listen(options: Partial<ListenHttpOptions> = {}): Promise<HttpListener> {
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    flag: '--healthz-port',
    handler: (request) => {
      seen.push(request);
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: `hello ${request.path}` };
    },
    onError: (err) => void errors.push(err),
    ...options,
  });
  open.push(listener);
  return listener;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function ask(
  listener: HttpListener,
  path: string,
  options: { method?: string; agent?: Agent; body?: string } = {},
) {
  const { method = 'GET', agent = false, body } = options;
  return new Promise<Answer>((resolve, reject) => {
    const outgoing = httpRequest(
      { host: listener.host, port: listener.port, path, method, agent },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Sends exactly this, and returns what the client receives until the server closes. */
function raw(listener: HttpListener, text: string): { socket: Socket; end: Promise<string> } {
  const socket = connect(listener.port, listener.host);
  open.push({ close: () => void socket.destroy() });
  socket.setEncoding('utf8');
  let got = '';
  socket.on('data', (chunk: string) => {
    got += chunk;
  });
  const end = new Promise<string>((resolve) => {
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(got));
  });
  if (text !== '') socket.write(text);
  return { socket, end };
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('requests and responses', () => {
  test('listens on a free port, passes the request as data and sends the response with its length', async () => {
    const connections: unknown[] = [];
    const listener = await listen({
      handler: (request) => {
        seen.push(request);
        connections.push(request.connection?.());
        return { status: 200, headers: { 'content-type': 'text/plain' }, body: `hello ${request.path}` };
      },
    });
    expect(listener.port).toBeGreaterThan(0);
    const answer = await ask(listener, '/a%20b?x=1&y=a+b&x=2');
    expect(answer).toMatchObject({ status: 200, body: 'hello /a b' });
    expect(connections[0]).toEqual({
      remoteAddress: '127.0.0.1',
      remotePort: expect.any(Number),
      localPort: listener.port,
      httpVersion: '1.1',
    });
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '10' });
    expect(seen[0]).toMatchObject({ method: 'GET', path: '/a b' });
    expect([...(seen[0]?.query ?? [])]).toEqual([
      ['x', '1'],
      ['y', 'a b'],
      ['x', '2'],
    ]);
  });

  test('answers HEAD with headers and no body', async () => {
    const answer = await ask(await listen(), '/x', { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers['content-length']).toBe('8');
  });

  test('sends bytes unchanged', async () => {
    const body = new TextEncoder().encode('grün');
    const listener = await listen({ handler: async () => ({ status: 201, headers: {}, body }) });
    expect(await ask(listener, '/')).toMatchObject({ status: 201, body: 'grün' });
  });

  test('treats a path with two leading slashes as a path, not a host', async () => {
    expect(await ask(await listen(), '//healthz')).toMatchObject({ body: 'hello //healthz' });
  });

  test('uses the path of a whole URL, as clients of a proxy send it', async () => {
    expect(await ask(await listen(), 'http://other/pods?x=1')).toMatchObject({ body: 'hello /pods' });
    expect(seen[0]?.query.get('x')).toBe('1');
  });

  test.each(['/%zz', 'nonsense'])('%s is no path', async (path) => {
    expect(await ask(await listen(), path)).toMatchObject({ status: 400 });
    expect(seen).toEqual([]);
  });

  test('answers 500 without details if a handler throws, and reports it once', async () => {
    const listener = await listen({
      handler: () => {
        throw new Error('secret');
      },
    });
    expect(await ask(listener, '/')).toMatchObject({ status: 500, body: 'internal server error\n' });
    expect(errors).toEqual([new Error('secret')]);
  });
});

describe('request bodies', () => {
  const echo: ListenHttpOptions['handler'] = async (request) => ({
    status: 200,
    headers: {},
    body: await request.readBody(8),
  });

  test('are read by handlers that need them', async () => {
    expect(
      await ask(await listen({ handler: echo }), '/', { method: 'PUT', body: '12345678' }),
    ).toMatchObject({
      status: 200,
      body: '12345678',
    });
    expect(await ask(await listen({ handler: echo }), '/')).toMatchObject({ status: 200, body: '' });
  });

  test('are rejected if longer than the handler allows', async () => {
    const listener = await listen({ handler: echo });
    expect(await ask(listener, '/', { method: 'PUT', body: '123456789' })).toMatchObject({ status: 413 });
    expect(errors).toEqual([]);
  });
});

describe('streams', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const answers = (body: AsyncIterable<Uint8Array>): ListenHttpOptions['handler'] => {
    return () => ({ status: 200, headers: { 'content-type': 'text/plain' }, body });
  };

  test('are sent in chunks and survive silence in between', async () => {
    async function* slowly(): AsyncIterable<Uint8Array> {
      yield bytes('one ');
      await new Promise((resolve) => void setTimeout(resolve, 150));
      yield bytes('two');
    }
    const listener = await listen({ handler: answers(slowly()), limits: { stalledMs: 50, idleMs: 50 } });
    const answer = await ask(listener, '/');
    expect(answer.body).toBe('one two');
    expect(answer.headers).toMatchObject({ 'transfer-encoding': 'chunked', 'content-type': 'text/plain' });
  });

  test('send their headers before the first byte, and end when the client disconnects', async () => {
    const returned = deferred();
    let signal: AbortSignal | undefined;
    const listener = await listen({
      handler: (request) => {
        signal = request.signal;
        const body = {
          [Symbol.asyncIterator]: () => ({
            next: () => new Promise<never>(() => undefined),
            return: async () => {
              returned.resolve();
              return { done: true as const, value: undefined };
            },
          }),
        };
        return { status: 200, headers: {}, body };
      },
    });
    const { socket } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const head = await new Promise<string>((resolve) => void socket.once('data', resolve));
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(signal?.aborted).toBe(false);
    socket.destroy();
    await returned.promise;
    expect(signal?.aborted).toBe(true);
    expect(errors).toEqual([]);
  });

  test('are produced only as fast as the client reads, and time out', async () => {
    let produced = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (;;) {
        produced += 1;
        yield new Uint8Array(1024 * 1024);
      }
    }
    const listener = await listen({ handler: answers(endless()), limits: { streamStalledMs: 100 } });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    await new Promise((resolve) => void setTimeout(resolve, 300));
    const after = produced;
    expect(after).toBeLessThan(50);
    socket.resume();
    await end;
    expect(produced).toBe(after);
  });

  test('time out earlier if their handler wants it', async () => {
    const returned = deferred();
    async function* endless(): AsyncIterable<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(1024 * 1024);
      } finally {
        returned.resolve();
      }
    }
    const listener = await listen({
      handler: () => ({ status: 200, headers: {}, body: endless(), stalledMs: 100 }),
    });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    await returned.promise;
    socket.resume();
    await end;
    expect(errors).toEqual([]);
  });

  test('wait longer than other responses for a client that pauses', async () => {
    let produced = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (;;) {
        produced += 1;
        yield new Uint8Array(1024 * 1024);
      }
    }
    const listener = await listen({ handler: answers(endless()), limits: { stalledMs: 20 } });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    await new Promise((resolve) => void setTimeout(resolve, 200));
    const paused = produced;
    socket.resume();
    await expect.poll(() => produced).toBeGreaterThan(paused + 20);
    socket.destroy();
    await end;
  });

  test('that fail are cut off and reported', async () => {
    async function* failing(): AsyncIterable<Uint8Array> {
      yield bytes('some');
      throw new Error('disk');
    }
    const listener = await listen({ handler: answers(failing()) });
    await expect(ask(listener, '/')).rejects.toThrow('aborted');
    expect(errors).toEqual([new Error('disk')]);
  });

  test('do not delay the close of the server', async () => {
    const begun = deferred();
    async function* silent(signal: AbortSignal): AsyncIterable<Uint8Array> {
      yield bytes('begin');
      begun.resolve();
      await untilAborted(signal);
    }
    const listener = await listen({
      limits: { closeMs: 60_000 },
      handler: ({ signal }) => ({ status: 200, headers: {}, body: silent(signal) }),
    });
    const answer = ask(listener, '/').catch(() => undefined);
    await begun.promise;
    await listener.close();
    await answer;
  });
});

describe('upgrades', () => {
  const hello = 'GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n';

  test('are proxied to the URL that the handler returns', async () => {
    const asked: string[] = [];
    const listener = await listen({
      handler: ({ path, upgrade }) => ({ proxyTo: `http://runtime${path}?${upgrade}` }),
      proxyUpgrade: async (request, socket, head, { proxyTo: url }) => {
        asked.push(`${request.method} ${head.length} ${url}`);
        socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhi');
      },
    });
    expect(await raw(listener, `${hello}abc`).end).toBe('HTTP/1.1 101 Switching Protocols\r\n\r\nhi');
    expect(asked).toEqual(['GET 3 http://runtime/exec?true']);
  });

  test('that are rejected get exactly one response', async () => {
    const listener = await listen({
      handler: () => ({ status: 403, headers: { 'content-type': 'text/plain' }, body: 'Forbidden' }),
      proxyUpgrade: () => Promise.reject(new Error('must not be called')),
    });
    const got = await raw(listener, `${hello}GET / HTTP/1.1\r\n\r\n`).end;
    expect(got).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*connection: close\r\n[^]*\r\n\r\nForbidden$/);
  });

  test('are not proxied without an upgrade request', async () => {
    const listener = await listen({ handler: () => ({ proxyTo: 'http://runtime/' }) });
    expect(await ask(listener, '/')).toMatchObject({ status: 500, body: 'Upgrade request required\n' });
  });

  test('end if the proxy rejects', async () => {
    const listener = await listen({
      handler: () => ({ proxyTo: 'http://runtime/' }),
      proxyUpgrade: () => Promise.reject(new Error('refused')),
    });
    expect(await raw(listener, hello).end).toBe('');
    expect(errors).toEqual([new Error('refused')]);
  });
});

describe('limits', () => {
  test('rejects headers that are too long', async () => {
    const listener = await listen({ limits: { headerBytes: 2048 } });
    const { end } = raw(listener, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(4096)}\r\n\r\n`);
    expect(await end).toMatch(/^HTTP\/1\.1 431 /);
    expect(seen).toEqual([]);
  });

  test('rejects input that is not HTTP', async () => {
    const { end } = raw(await listen(), 'hello there\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\n400 Bad Request$/s);
  });

  test('times out headers that never end', async () => {
    const listener = await listen({ limits: { headersTimeoutMs: 50 } });
    const { end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('times out a body that never ends', async () => {
    const listener = await listen({
      limits: { headersTimeoutMs: 50, requestTimeoutMs: 60 },
      handler: () => new Promise(() => undefined),
    });
    const { end } = raw(listener, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
    expect(await end).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('discards an unread body, and rejects one that is declared too long', async () => {
    const listener = await listen({ limits: { bodyBytes: 100 } });
    expect(await ask(listener, '/', { method: 'POST', body: 'a'.repeat(100) })).toMatchObject({
      status: 200,
    });
    const { end } = raw(listener, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('closes the connection if a body grows too long after the response', async () => {
    const listener = await listen({ limits: { bodyBytes: 100 } });
    const chunk = `64\r\n${'a'.repeat(100)}\r\n`;
    const { end } = raw(
      listener,
      `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}`,
    );
    await end;
  });

  test('disconnects a client that does not read its response', async () => {
    const body = new Uint8Array(32 * 1024 * 1024);
    const listener = await listen({
      limits: { stalledMs: 100 },
      handler: () => ({ status: 200, headers: {}, body }),
    });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    const gone = new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        // A paused socket notices its end only by writing.
        socket.write(' ', (err) => {
          if (!(err instanceof Error)) return;
          clearInterval(timer);
          resolve();
        });
      }, 20);
    });
    await gone;
    socket.destroy();
    expect((await end).length).toBeLessThan(body.length);
  });

  test('closes an idle connection', async () => {
    const listener = await listen({ limits: { idleMs: 50 } });
    const { end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('closes connections above the limit', async () => {
    const listener = await listen({ limits: { connections: 1 } });
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    await ask(listener, '/', { agent });
    await expect(ask(listener, '/')).rejects.toThrow();
  });
});

describe('close', () => {
  test('ends idle connections: kept alive, silent, or within a request', async () => {
    const listener = await listen({ limits: { closeMs: 60_000 } });
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    await ask(listener, '/', { agent });
    const silent = raw(listener, '');
    const half = raw(listener, 'GET / HTTP/1.1\r\n');
    // The server has accepted both once it has served a later connection.
    await ask(listener, '/');
    await listener.close();
    expect(await silent.end).toBe('');
    expect(await half.end).toBe('');
    await expect(ask(listener, '/')).rejects.toThrow();
  });

  test('lets an in-flight response complete as the last of its connection', async () => {
    const begun = deferred();
    const go = deferred();
    const listener = await listen({
      handler: async () => {
        begun.resolve();
        await go.promise;
        return { status: 200, headers: {}, body: 'late' };
      },
    });
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    const answer = ask(listener, '/', { agent });
    await begun.promise;
    const closed = listener.close();
    go.resolve();
    const late = await answer;
    expect(late.body).toBe('late');
    expect(late.headers.connection).toBe('close');
    await closed;
  });

  test('does not wait for a response that never ends', async () => {
    const begun = deferred();
    const listener = await listen({
      limits: { closeMs: 50 },
      handler: () => {
        begun.resolve();
        return new Promise(() => undefined);
      },
    });
    const answer = ask(listener, '/');
    const failed = expect(answer).rejects.toThrow();
    await begun.promise;
    await listener.close();
    await failed;
  });

  test('may be called twice', async () => {
    const listener = await listen();
    await listener.close();
    await listener.close();
  });
});

describe('ports that cannot be opened', () => {
  test('reports a port in use with its flag', async () => {
    const { port } = await listen();
    await expect(listen({ port })).rejects.toMatchObject({
      name: 'KubeletError',
      kind: 'conflict',
      reason: 'AddressInUse',
      message: `cannot listen on 127.0.0.1:${port} (--healthz-port): the address is in use`,
      details: { address: `127.0.0.1:${port}`, flag: '--healthz-port' },
    });
  });

  test('reports an address that the machine does not have', async () => {
    await expect(listen({ host: '192.0.2.1' })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'cannot listen on 192.0.2.1:0 (--healthz-port): this machine does not have the address',
    });
  });
});
