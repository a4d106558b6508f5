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

/** A client that says exactly this, and what it gets until the server hangs up. */
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

describe('requests and answers', () => {
  test('a free port, the request as data, the answer with its length', async () => {
    const listener = await listen();
    expect(listener.port).toBeGreaterThan(0);
    const answer = await ask(listener, '/a%20b?x=1&y=a+b&x=2');
    expect(answer).toMatchObject({ status: 200, body: 'hello /a b' });
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '10' });
    expect(seen[0]).toMatchObject({ method: 'GET', path: '/a b' });
    expect([...(seen[0]?.query ?? [])]).toEqual([
      ['x', '1'],
      ['y', 'a b'],
      ['x', '2'],
    ]);
  });

  test('HEAD has the headers and no body', async () => {
    const answer = await ask(await listen(), '/x', { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers['content-length']).toBe('8');
  });

  test('bytes are sent as they are', async () => {
    const body = new TextEncoder().encode('grün');
    const listener = await listen({ handler: async () => ({ status: 201, headers: {}, body }) });
    expect(await ask(listener, '/')).toMatchObject({ status: 201, body: 'grün' });
  });

  test('a path with two slashes is a path, not a host', async () => {
    expect(await ask(await listen(), '//healthz')).toMatchObject({ body: 'hello //healthz' });
  });

  test("a whole URL is taken by its path, as a proxy's client sends it", async () => {
    expect(await ask(await listen(), 'http://other/pods?x=1')).toMatchObject({ body: 'hello /pods' });
    expect(seen[0]?.query.get('x')).toBe('1');
  });

  test.each(['/%zz', 'nonsense'])('%s is no path', async (path) => {
    expect(await ask(await listen(), path)).toMatchObject({ status: 400 });
    expect(seen).toEqual([]);
  });

  test('a handler that throws is a 500 without its words, reported once', async () => {
    const listener = await listen({
      handler: () => {
        throw new Error('secret');
      },
    });
    expect(await ask(listener, '/')).toMatchObject({ status: 500, body: 'internal server error\n' });
    expect(errors).toEqual([new Error('secret')]);
  });
});

describe('bodies of requests', () => {
  const echo: ListenHttpOptions['handler'] = async (request) => ({
    status: 200,
    headers: {},
    body: await request.readBody(8),
  });

  test('are read where a handler wants them', async () => {
    expect(
      await ask(await listen({ handler: echo }), '/', { method: 'PUT', body: '12345678' }),
    ).toMatchObject({
      status: 200,
      body: '12345678',
    });
    expect(await ask(await listen({ handler: echo }), '/')).toMatchObject({ status: 200, body: '' });
  });

  test('are refused where they are too long for it', async () => {
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

  test('come in chunks, and silence between them does not end them', async () => {
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

  test('have their headers sent before their first byte, and end with their client', async () => {
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

  test('are read only as fast as they are taken, and not for ever', async () => {
    let made = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (;;) {
        made += 1;
        yield new Uint8Array(1024 * 1024);
      }
    }
    const listener = await listen({ handler: answers(endless()), limits: { streamStalledMs: 100 } });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    await new Promise((resolve) => void setTimeout(resolve, 300));
    const after = made;
    expect(after).toBeLessThan(50);
    socket.resume();
    await end;
    expect(made).toBe(after);
  });

  test('wait for a client that pauses for longer than another answer may', async () => {
    let made = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (;;) {
        made += 1;
        yield new Uint8Array(1024 * 1024);
      }
    }
    const listener = await listen({ handler: answers(endless()), limits: { stalledMs: 20 } });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    await new Promise((resolve) => void setTimeout(resolve, 200));
    const paused = made;
    socket.resume();
    await expect.poll(() => made).toBeGreaterThan(paused + 20);
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

  test('do not hold up the end of the server', async () => {
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

describe('another protocol', () => {
  const hello = 'GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n';

  test('is spoken with whom the handler names', async () => {
    const asked: string[] = [];
    const listener = await listen({
      handler: ({ path, upgrade }) => ({ proxyTo: `http://runtime${path}?${upgrade}` }),
      proxyUpgrade: async (request, socket, head, url) => {
        asked.push(`${request.method} ${head.length} ${url}`);
        socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhi');
      },
    });
    expect(await raw(listener, `${hello}abc`).end).toBe('HTTP/1.1 101 Switching Protocols\r\n\r\nhi');
    expect(asked).toEqual(['GET 3 http://runtime/exec?true']);
  });

  test('that is refused gets an answer, and no second one', async () => {
    const listener = await listen({
      handler: () => ({ status: 403, headers: { 'content-type': 'text/plain' }, body: 'Forbidden' }),
      proxyUpgrade: () => Promise.reject(new Error('not to be called')),
    });
    const got = await raw(listener, `${hello}GET / HTTP/1.1\r\n\r\n`).end;
    expect(got).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*connection: close\r\n[^]*\r\n\r\nForbidden$/);
  });

  test('cannot be spoken by who does not ask for it', async () => {
    const listener = await listen({ handler: () => ({ proxyTo: 'http://runtime/' }) });
    expect(await ask(listener, '/')).toMatchObject({ status: 500, body: 'Upgrade request required\n' });
  });

  test('ends when the connection cannot be handed on', async () => {
    const listener = await listen({
      handler: () => ({ proxyTo: 'http://runtime/' }),
      proxyUpgrade: () => Promise.reject(new Error('refused')),
    });
    expect(await raw(listener, hello).end).toBe('');
    expect(errors).toEqual([new Error('refused')]);
  });
});

describe('limits', () => {
  test('headers that are too long', async () => {
    const listener = await listen({ limits: { headerBytes: 2048 } });
    const { end } = raw(listener, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(4096)}\r\n\r\n`);
    expect(await end).toMatch(/^HTTP\/1\.1 431 /);
    expect(seen).toEqual([]);
  });

  test('what is not HTTP', async () => {
    const { end } = raw(await listen(), 'hello there\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\n400 Bad Request$/s);
  });

  test('headers that do not come to an end', async () => {
    const listener = await listen({ limits: { headersTimeoutMs: 50 } });
    const { end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body that does not come to an end', async () => {
    const listener = await listen({
      limits: { headersTimeoutMs: 50, requestTimeoutMs: 60 },
      handler: () => new Promise(() => undefined),
    });
    const { end } = raw(listener, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
    expect(await end).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body that is read past, and one that is said to be too long', async () => {
    const listener = await listen({ limits: { bodyBytes: 100 } });
    expect(await ask(listener, '/', { method: 'POST', body: 'a'.repeat(100) })).toMatchObject({
      status: 200,
    });
    const { end } = raw(listener, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a body that grows too long after its answer', async () => {
    const listener = await listen({ limits: { bodyBytes: 100 } });
    const chunk = `64\r\n${'a'.repeat(100)}\r\n`;
    const { end } = raw(
      listener,
      `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}`,
    );
    await end;
  });

  test('a client that does not read its answer', async () => {
    const body = new Uint8Array(32 * 1024 * 1024);
    const listener = await listen({
      limits: { stalledMs: 100 },
      handler: () => ({ status: 200, headers: {}, body }),
    });
    const { socket, end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.pause();
    const gone = new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        // A paused socket learns of its end only by writing.
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

  test('a connection that is not used any more', async () => {
    const listener = await listen({ limits: { idleMs: 50 } });
    const { end } = raw(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await end).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('too many connections', async () => {
    const listener = await listen({ limits: { connections: 1 } });
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    await ask(listener, '/', { agent });
    await expect(ask(listener, '/')).rejects.toThrow();
  });
});

describe('close', () => {
  test('ends connections that wait: kept alive, silent, half way through a request', async () => {
    const listener = await listen({ limits: { closeMs: 60_000 } });
    const agent = new Agent({ keepAlive: true });
    open.push({ close: () => agent.destroy() });
    await ask(listener, '/', { agent });
    const silent = raw(listener, '');
    const half = raw(listener, 'GET / HTTP/1.1\r\n');
    // Both are known to the server once a later connection was served.
    await ask(listener, '/');
    await listener.close();
    expect(await silent.end).toBe('');
    expect(await half.end).toBe('');
    await expect(ask(listener, '/')).rejects.toThrow();
  });

  test('lets an answer under way end, as the last of its connection', async () => {
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

  test('does not wait for an answer that never comes', async () => {
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

  test('may be called again', async () => {
    const listener = await listen();
    await listener.close();
    await listener.close();
  });
});

describe('ports that cannot be had', () => {
  test('one in use is named, with its flag', async () => {
    const { port } = await listen();
    await expect(listen({ port })).rejects.toMatchObject({
      name: 'KubeletError',
      kind: 'conflict',
      reason: 'AddressInUse',
      message: `cannot listen on 127.0.0.1:${port} (--healthz-port): the address is in use`,
      details: { address: `127.0.0.1:${port}`, flag: '--healthz-port' },
    });
  });

  test('an address that is not ours', async () => {
    await expect(listen({ host: '192.0.2.1' })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'cannot listen on 192.0.2.1:0 (--healthz-port): this machine does not have the address',
    });
  });
});
