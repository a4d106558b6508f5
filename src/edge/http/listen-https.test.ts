import { connect as connectHttp2 } from 'node:http2';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type KeyPair, TestAuthority } from '../../../test/api-server/pki.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { HttpRequest } from '../../api/ports/http.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { Channel } from '../../base/channel.ts';
import type { HttpListener } from './listen-http.ts';
import { type ListenHttpsOptions, listenHttps } from './listen-https.ts';

const authority = new TestAuthority();
const other = new TestAuthority();
const server = authority.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });
const admin = authority.issue({ commonName: 'admin', organizations: ['a', 'b'], usage: 'client' });
const ciphers = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256';

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

/** The certificate of a port and the authorities that it trusts; tests change them. */
class PortCertificates {
  pair: KeyPair | undefined = server;
  ca = authority.cert;
  readonly changed = new Channel<void>();
  readonly certificate = {
    current: () => this.pair && { certPem: this.pair.cert, keyPem: this.pair.key },
    changed: this.changed,
  };
  readonly clientAuthorities = { pem: () => this.ca, changed: new Channel<void>() };
}

async function listen(
  shown: PortCertificates,
  options: Partial<ListenHttpsOptions> = {},
): Promise<HttpListener> {
  const listener = await listenHttps({
    host: '127.0.0.1',
    port: 0,
    flag: '--port',
    handler: (request) => {
      seen.push(request);
      return { status: 200, headers: {}, body: `hello ${request.certificate?.commonName ?? 'anonymous'}` };
    },
    onError: (err) => void errors.push(err),
    certificate: shown.certificate,
    clientAuthorities: shown.clientAuthorities,
    minVersion: 'TLSv1.2',
    ciphers,
    ...options,
  });
  open.push(listener);
  return listener;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function ask(listener: HttpListener, path: string, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { host, port } = listener;
    const outgoing = httpsRequest(
      { host, port, path, ca: authority.cert, agent: false, ...options },
      (incoming) => {
        let body = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          body += chunk;
        });
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body }));
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** What the server sends in a handshake of TLS 1.2, in which the accepted issuers are not encrypted. */
async function handshakeText({ host, port }: HttpListener): Promise<string> {
  const chunks: Buffer[] = [];
  const relay = createServer((client) => {
    const upstream = connectTcp({ host, port });
    upstream.on('data', (chunk) => chunks.push(chunk));
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const { port: relayPort } = relay.address() as AddressInfo;
  await new Promise<void>((resolve, reject) => {
    const socket = connectTls({ host, port: relayPort, ca: authority.cert, maxVersion: 'TLSv1.2' }, () =>
      socket.end(),
    );
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
  await new Promise<void>((resolve) => {
    relay.close(() => resolve());
  });
  return Buffer.concat(chunks).toString('latin1');
}

const by = (pair: KeyPair): RequestOptions => ({ cert: pair.cert, key: pair.key });

async function askHttp2(listener: HttpListener, path: string, pair?: KeyPair): Promise<Answer> {
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, {
    ca: authority.cert,
    ...(pair && { cert: pair.cert, key: pair.key }),
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      session.on('error', reject);
      const stream = session.request({ ':path': path });
      let status = 0;
      let body = '';
      stream.setEncoding('utf8');
      stream.on('response', (headers) => {
        status = headers[':status'] ?? 0;
      });
      stream.on('data', (chunk: string) => {
        body += chunk;
      });
      stream.on('end', () => resolve({ status, body }));
      stream.on('error', reject);
    });
  } finally {
    session.close();
  }
}

test('a request has the addresses and the protocol of its connection', async () => {
  const connections: unknown[] = [];
  const handler: ListenHttpsOptions['handler'] = (request) => {
    connections.push(request.connection?.());
    return { status: 200, headers: {}, body: '' };
  };
  const listener = await listen(new PortCertificates(), { handler });
  await ask(listener, '/');
  await askHttp2(listener, '/');
  const [first, second] = ['1.1', '2.0'].map((httpVersion) => ({
    remoteAddress: '127.0.0.1',
    remotePort: expect.any(Number) as number,
    localPort: listener.port,
    httpVersion,
  }));
  expect(connections).toEqual([first, second]);
});

describe('client certificates', () => {
  test('are passed to the handler with their fields', async () => {
    const listener = await listen(new PortCertificates());
    expect(await ask(listener, '/', by(admin))).toEqual({ status: 200, body: 'hello admin' });
    expect(seen[0]?.certificate).toMatchObject({
      commonName: 'admin',
      organizations: ['a', 'b'],
      uid: '',
      problem: undefined,
    });
    expect(seen[0]?.certificate?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(seen[0]?.certificate?.notAfterMs).toBeGreaterThan(Date.now());
  });

  test('are valid if the whole chain of authorities is trusted', async () => {
    const below = new TestAuthority({ issuer: authority });
    const client = below.issue({ commonName: 'below', usage: 'client' });
    const shown = new PortCertificates();
    shown.ca = below.cert;
    await ask(await listen(shown), '/', by(client));
    shown.ca = below.cert + authority.cert;
    await ask(await listen(shown), '/', by(client));
    const problems = seen.map(({ certificate }) => certificate?.problem);
    expect(problems).toEqual(['UNABLE_TO_GET_ISSUER_CERT', undefined]);
  });

  test('are optional', async () => {
    const listener = await listen(new PortCertificates());
    expect(await ask(listener, '/')).toEqual({ status: 200, body: 'hello anonymous' });
  });

  const hourMs = 3_600_000;
  const faults = [
    ['another authority', other.issue({ commonName: 'x', usage: 'client' }), 'CERT_SIGNATURE_FAILURE'],
    ['server usage only', authority.issue({ commonName: 'x', usage: 'server' }), 'INVALID_PURPOSE'],
    [
      'an expired validity',
      authority.issue({ commonName: 'x', usage: 'client', notBeforeMs: Date.now() - hourMs, seconds: 60 }),
      'CERT_HAS_EXPIRED',
    ],
    [
      'a future validity',
      authority.issue({ commonName: 'x', usage: 'client', notBeforeMs: Date.now() + hourMs }),
      'CERT_NOT_YET_VALID',
    ],
  ] as const;
  for (const [name, pair, problem] of faults) {
    test(`with ${name} have a problem`, async () => {
      await ask(await listen(new PortCertificates()), '/', by(pair));
      expect(seen[0]?.certificate?.problem).toBe(problem);
    });
  }

  test('are not requested without authorities', async () => {
    await ask(await listen(new PortCertificates(), { clientAuthorities: undefined }), '/', by(admin));
    expect(seen[0]?.certificate).toBeUndefined();
  });
});

describe('HTTP/2', () => {
  test('is negotiated, with certificates and streams', async () => {
    async function* stream(): AsyncIterable<Uint8Array> {
      yield new TextEncoder().encode('one ');
      yield new TextEncoder().encode('two');
    }
    const listener = await listen(new PortCertificates(), {
      handler: ({ certificate, path }) => ({
        status: 200,
        headers: {},
        body: path === '/stream' ? stream() : `hello ${certificate?.commonName}`,
      }),
    });
    expect(await askHttp2(listener, '/', admin)).toEqual({ status: 200, body: 'hello admin' });
    expect(await askHttp2(listener, '/stream')).toEqual({ status: 200, body: 'one two' });
  });

  test('closes an idle connection, but not one with a silent stream', async () => {
    let ended = false;
    async function* silent(signal: AbortSignal): AsyncIterable<Uint8Array> {
      yield new TextEncoder().encode('begin');
      await untilAborted(signal);
      ended = true;
    }
    const listener = await listen(new PortCertificates(), {
      limits: { idleMs: 50, stalledMs: 50 },
      handler: ({ path, signal }) => ({
        status: 200,
        headers: {},
        body: path === '/' ? 'done' : silent(signal),
      }),
    });
    const idle = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
    await new Promise<void>((resolve) => {
      const used = idle.request({ ':path': '/' });
      used.resume();
      used.on('close', () => resolve());
    });
    const busy = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
    const stream = busy.request({ ':path': '/logs' });
    await new Promise((resolve) => void stream.once('data', resolve));
    if (!idle.closed) await new Promise<void>((resolve) => void idle.once('close', () => resolve()));
    await new Promise((resolve) => void setTimeout(resolve, 200));
    expect([busy.closed, ended]).toEqual([false, false]);
    stream.close();
    busy.close();
    await expect.poll(() => ended).toBe(true);
  });

  test.each([
    ['no handler reads', async () => ({ status: 401, headers: {}, body: 'no' })],
    [
      'a handler waits for',
      async (request: HttpRequest) => ({ status: 200, headers: {}, body: await request.readBody(10) }),
    ],
  ])('a body that never ends and that %s does not hold the connection', async (_, handler) => {
    const listener = await listen(new PortCertificates(), {
      handler,
      limits: { idleMs: 50, requestTimeoutMs: 50 },
    });
    const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
    open.push({ close: () => session.destroy() });
    session.on('error', () => undefined);
    const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false });
    stream.on('error', () => undefined);
    stream.resume();
    stream.write('x');
    await new Promise<void>((resolve) => void session.once('close', () => resolve()));
    expect(errors).toEqual([]);
  });

  test('closes the connection of a client that does not close it', async () => {
    const listener = await listen(new PortCertificates(), { limits: { idleMs: 50, closeMs: 50 } });
    const socket = connectTls({
      host: '127.0.0.1',
      port: listener.port,
      ca: authority.cert,
      ALPNProtocols: ['h2'],
    });
    socket.allowHalfOpen = true;
    open.push({ close: () => void socket.destroy() });
    const broken = new Promise<void>((resolve) => {
      socket.on('error', () => resolve());
      socket.on('close', () => resolve());
    });
    // The preface and empty settings, all that an HTTP/2 client must send.
    socket.write(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\0'.repeat(3)}\u0004${'\0'.repeat(5)}`);
    socket.resume();
    await new Promise<void>((resolve) => void socket.once('end', () => resolve()));
    // An open socket notices the close of its peer only by writing.
    const timer = setInterval(() => socket.write('x'), 20);
    await broken;
    clearInterval(timer);
  });
});

describe('certificate changes', () => {
  test('waits for the first certificate, and uses its replacement', async () => {
    const shown = new PortCertificates();
    shown.pair = undefined;
    const listener = await listen(shown);
    await expect(ask(listener, '/')).rejects.toThrow();
    shown.pair = server;
    shown.changed.push();
    expect(await ask(listener, '/')).toMatchObject({ status: 200 });
    shown.pair = other.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });
    shown.changed.push();
    await expect(ask(listener, '/')).rejects.toThrow();
    expect(await ask(listener, '/', { ca: other.cert })).toMatchObject({ status: 200 });
  });

  test('keeps the previous certificate if the new one is invalid', async () => {
    const shown = new PortCertificates();
    const listener = await listen(shown);
    shown.pair = { cert: 'nonsense', key: 'nonsense' };
    shown.changed.push();
    expect(await ask(listener, '/')).toMatchObject({ status: 200 });
    expect(errors).toHaveLength(1);
  });

  test('names the current client authorities in the handshake', async () => {
    const [first, second] = ['first-client-ca', 'second-client-ca'];
    const shown = new PortCertificates();
    shown.ca = new TestAuthority({ commonName: first }).cert;
    const listener = await listen(shown);
    const before = await handshakeText(listener);
    expect([before.includes(first), before.includes(second)]).toEqual([true, false]);
    shown.ca = new TestAuthority({ commonName: second }).cert;
    shown.clientAuthorities.changed.push();
    const after = await handshakeText(listener);
    expect([after.includes(first), after.includes(second)]).toEqual([false, true]);
  });

  test('stops accepting requests on connections verified by replaced authorities', async () => {
    const shown = new PortCertificates();
    const listener = await listen(shown);
    const agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      cert: admin.cert,
      key: admin.key,
      ca: authority.cert,
    });
    open.push({ close: () => agent.destroy() });
    await ask(listener, '/', { agent });
    await ask(listener, '/', { agent });
    expect(seen.map(({ certificate }) => certificate?.problem)).toEqual([undefined, undefined]);
    shown.ca = other.cert;
    shown.clientAuthorities.changed.push();
    await expect.poll(() => Object.values(agent.freeSockets).flat().length).toBe(0);
    await ask(listener, '/', { agent });
    expect(seen[2]?.certificate?.problem).toBe('CERT_SIGNATURE_FAILURE');
    await ask(listener, '/', by(other.issue({ commonName: 'x', usage: 'client' })));
    expect(seen[3]?.certificate?.problem).toBeUndefined();
  });
});

describe('TLS', () => {
  const versions = [
    ['TLSv1.3', 'TLSv1.2', false],
    ['TLSv1.3', 'TLSv1.3', true],
    ['TLSv1.2', 'TLSv1.2', true],
    ['TLSv1.2', 'TLSv1.1', false],
  ] as const;
  for (const [least, spoken, works] of versions) {
    test(`a server with minimum ${least} and a client with ${spoken} connect: ${works}`, async () => {
      const listener = await listen(new PortCertificates(), { minVersion: least });
      const answer = ask(listener, '/', {
        minVersion: spoken,
        maxVersion: spoken,
        ...(spoken === 'TLSv1.1' && { ciphers: 'DEFAULT@SECLEVEL=0' }),
      });
      if (works) expect(await answer).toMatchObject({ status: 200 });
      else await expect(answer).rejects.toThrow();
    });
  }

  test('times out a handshake that never ends', async () => {
    const listener = await listen(new PortCertificates(), { limits: { headersTimeoutMs: 50 } });
    const socket = connectTcp(listener.port, listener.host);
    await new Promise<void>((resolve) => {
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
  });

  test('times out headers that never end', async () => {
    // It is the handshake's limit, too, which a busy machine needs longer for.
    const listener = await listen(new PortCertificates(), { limits: { headersTimeoutMs: 500 } });
    const socket = connectTls(listener.port, listener.host, { ca: authority.cert });
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
    await new Promise<void>((resolve) => void socket.on('close', () => resolve()));
    expect(got).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('rejects headers that are too long', async () => {
    const listener = await listen(new PortCertificates(), { limits: { headerBytes: 2048 } });
    expect(await ask(listener, '/', { headers: { 'x-long': 'a'.repeat(500_000) } })).toMatchObject({
      status: 431,
    });
  });

  test('proxies an upgraded connection', async () => {
    const listener = await listen(new PortCertificates(), {
      handler: () => ({ proxyTo: 'http://runtime/x' }),
      proxyUpgrade: async (_request, socket, _head, { proxyTo: url }) => {
        socket.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${url}`);
      },
    });
    const socket = connectTls(listener.port, listener.host, { ca: authority.cert });
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    socket.write('GET /exec HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    await new Promise<void>((resolve) => void socket.on('close', () => resolve()));
    expect(got).toMatch(/^HTTP\/1\.1 101 [^]*http:\/\/runtime\/x$/);
  });

  test('closes at once if nothing is in flight, including silent clients', async () => {
    const listener = await listen(new PortCertificates(), { limits: { closeMs: 100 } });
    const silent = connectTcp(listener.port, listener.host);
    silent.on('error', () => undefined);
    await ask(listener, '/');
    await listener.close();
    silent.destroy();
  });
});

describe('addresses', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '127.0.0.1'],
    ['::', '::1'],
  ])('a listener on %s is reachable at %s', async (host, at) => {
    const listener = await listen(new PortCertificates(), { host });
    const answer = await ask({ ...listener, host: at }, '/', { rejectUnauthorized: false });
    expect(answer).toMatchObject({ status: 200 });
  });

  test('reports a port in use with its flag', async () => {
    const { port } = await listen(new PortCertificates());
    await expect(listen(new PortCertificates(), { port })).rejects.toMatchObject({
      kind: 'conflict',
      message: `cannot listen on 127.0.0.1:${port} (--port): the address is in use`,
    });
  });
});
