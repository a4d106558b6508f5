import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { certificate, key } from '../probe/fixtures/self-signed.ts';
import { UpgradeProxy, type UpgradeProxyOptions } from './upgrade-proxy.ts';

let leaks: LeakCheck;
let closers: (() => unknown)[] = [];
let errors: string[] = [];

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 5_000 });
  closers = [];
  errors = [];
});

afterEach(async () => {
  for (const close of closers.toReversed()) await close();
  await leaks.assertNone();
});

async function listening(server: Server | ReturnType<typeof createTcp>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Accepted by both kinds of sockets, but typed for one only. */
const halfOpen: object = { allowHalfOpen: true };

interface Front {
  readonly port: number;
  readonly proxy: UpgradeProxy;
  /** All tunnels so far. */
  readonly tunnels: Promise<void>[];
  /** Aborted to simulate a stop of the kubelet. */
  readonly close: () => void;
}

/** A port that proxies every upgrade to `url`. */
async function front(
  url: string,
  options: Partial<UpgradeProxyOptions> & { readonly secure?: boolean } = {},
): Promise<Front> {
  const proxy = new UpgradeProxy({
    idleMs: 0,
    onError: (err) => void errors.push((err as Error).message),
    ...options,
  });
  const server = options.secure ? createHttps({ cert: certificate, key }) : createHttp();
  // As on the kubelet's ports: silent connections are closed, unless they are streams.
  server.timeout = 300;
  const tunnels: Promise<void>[] = [];
  const abort = new AbortController();
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    tunnels.push(proxy.proxy(request, socket, head, { url }, abort.signal));
  });
  const port = await listening(server);
  const close = (): void => abort.abort();
  closers.push(close);
  return { port, proxy, tunnels, close };
}

interface Backend {
  readonly url: string;
  readonly requests: string[];
  readonly sockets: Socket[];
}

/** Reads the head of a request, switches protocols and leaves the rest to `then`. */
async function backend(then: (socket: Socket, rest: Buffer) => void, answer = switching): Promise<Backend> {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createTcp({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const at = seen.indexOf('\r\n\r\n');
      if (at < 0) return;
      socket.off('data', onData);
      requests.push(seen.subarray(0, at).toString('latin1'));
      socket.write(answer);
      then(socket, seen.subarray(at + 4));
    };
    socket.on('data', onData);
  });
  closers.push(() => sockets.forEach((socket) => socket.destroy()));
  return { url: `http://127.0.0.1:${await listening(server)}/exec/abc?x=1`, requests, sockets };
}

const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Odd: a  b\r\n\r\n';

function ask(extra: readonly string[] = [], method = 'POST'): string {
  const lines = [
    `${method} /exec/ns/pod/main?command=ls HTTP/1.1`,
    'Host: node:10250',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    ...extra,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function client(port: number, allowHalfOpen = false): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  socket.on('error', () => socket.destroy());
  closers.push(() => socket.destroy());
  return socket;
}

/** Reads to the end, leaving the other direction open. */
async function readAll(socket: Socket): Promise<string> {
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
  });
  await new Promise((resolve) => {
    socket.once('end', resolve);
    socket.once('close', resolve);
  });
  return got;
}

/** What the client receives until the end. */
async function exchange(port: number, say: string | Buffer): Promise<string> {
  const socket = client(port, true);
  socket.write(say);
  const got = await readAll(socket);
  socket.end();
  return got;
}

const echo = (socket: Socket, rest: Buffer): void => {
  socket.write(rest);
  socket.pipe(socket);
};

describe('UpgradeProxy', () => {
  test("forwards the request with the URL's path and the headers as received, without credentials", async () => {
    const to = await backend((socket) => socket.end());
    const { port } = await front(to.url);
    const answer = await exchange(
      port,
      ask([
        'X-Stream-Protocol-Version: v4.channel.k8s.io',
        'X-Stream-Protocol-Version: channel.k8s.io',
        'Authorization: Bearer secret',
        'Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0',
        'X-Forwarded-For: 10.0.0.1',
      ]),
    );
    expect(answer).toBe(switching);
    expect(to.requests[0]?.split('\r\n')).toEqual([
      'POST /exec/abc?x=1 HTTP/1.1',
      'Host: node:10250',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
      'X-Stream-Protocol-Version: v4.channel.k8s.io',
      'X-Stream-Protocol-Version: channel.k8s.io',
      'Sec-WebSocket-Protocol: v4.channel.k8s.io',
      'X-Forwarded-For: 10.0.0.1, 127.0.0.1',
      'Content-Length: 0',
    ]);
  });

  test('announces no body, whatever the client sends', async () => {
    const to = await backend((socket) => socket.end());
    const { port } = await front(to.url);
    expect(await exchange(port, `${ask(['Content-Length: 5'])}hello`)).toBe(switching);
    expect(to.requests[0]?.split('\r\n').filter((line) => /length|encoding/i.test(line))).toEqual([
      'Content-Length: 0',
    ]);
  });

  test('loses no bytes sent along with the request and the response', async () => {
    const to = await backend((socket, rest) => {
      socket.write('early;');
      echo(socket, rest);
    });
    const { port } = await front(to.url);
    const socket = client(port);
    socket.write(`${ask()}first `);
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.end('second');
    expect(await readAll(socket)).toBe(`${switching}early;first second`);
  });

  test('delivers the final bytes of a server that closes while the client is still sending', async () => {
    const to = await backend(() => undefined);
    const got: Buffer[] = [];
    const talker = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        got.push(chunk);
        done();
      },
    });
    const proxy = new UpgradeProxy({ idleMs: 0 });
    const server = createHttp();
    let tunnel: Promise<void> | undefined;
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      closers.push(() => socket.destroy());
      tunnel = proxy.proxy(request, talker, head, { url: to.url });
    });
    client(await listening(server)).write(ask());
    while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    // Synchronously: the next write fails before anything is read.
    to.sockets[0]?.write('final bytes');
    to.sockets[0]?.resetAndDestroy();
    talker.push('and another thing');
    await once(talker, 'finish');
    expect(Buffer.concat(got).toString()).toBe(`${switching}final bytes`);
    talker.push(null);
    talker.destroy();
    await tunnel;
  });

  test('a half-closed client still receives, and so does a half-closed server', async () => {
    const afterEnd = await backend((socket) => {
      let seen = '';
      socket.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
      socket.on('end', () => socket.end(`seen ${seen}`));
    });
    const one = await front(afterEnd.url);
    const socket = client(one.port, true);
    socket.end(`${ask()}all of it`);
    expect(await readAll(socket)).toBe(`${switching}seen all of it`);
    await Promise.all(one.tunnels);
    let taken = '';
    let tookAll = (): void => undefined;
    const tookIt = new Promise<void>((resolve) => {
      tookAll = resolve;
    });
    const beforeEnd = await backend((backendSocket) => {
      backendSocket.end('bye');
      backendSocket.on('data', (chunk: Buffer) => {
        taken += chunk.toString();
      });
      backendSocket.on('end', () => tookAll());
    });
    const two = await front(beforeEnd.url);
    const late = client(two.port, true);
    late.write(ask());
    expect(await readAll(late)).toBe(`${switching}bye`);
    late.end('still there');
    await Promise.all([...two.tunnels, tookIt]);
    expect(taken).toBe('still there');
    expect([one.proxy.open, two.proxy.open]).toEqual([0, 0]);
  });

  test.each([false, true])(
    'transfers large data intact in both directions at once (TLS towards the client: %s)',
    async (secure) => {
      const to = await backend(echo);
      const { port, tunnels } = await front(to.url, { secure });
      const socket = secure
        ? connectTls({ port, host: '127.0.0.1', ...halfOpen, rejectUnauthorized: false })
        : client(port, true);
      closers.push(() => socket.destroy());
      const sent = randomBytes(12 * 1024 * 1024);
      socket.write(ask());
      socket.end(sent);
      const hash = createHash('sha256');
      let bytes = -switching.length;
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        hash.update(bytes < 0 ? chunk.subarray(-bytes) : chunk);
        bytes += chunk.length;
      }
      expect(bytes).toBe(sent.length);
      expect(hash.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'));
      await Promise.all(tunnels);
    },
  );

  test('applies backpressure in both directions', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const most = 64 * 1024 * 1024;
    const to = await backend((socket) => {
      const more = (): void => {
        while (written < most && socket.write(chunk)) written += chunk.length;
        if (written < most) socket.once('drain', more);
      };
      more();
    });
    const { port, proxy, tunnels } = await front(to.url);
    const socket = client(port);
    socket.write(ask());
    await once(socket, 'data');
    socket.pause();
    // Until the buffers of both connections are full.
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(written).toBeLessThan(most / 2);
    socket.destroy();
    await Promise.all(tunnels);
    expect(proxy.open).toBe(0);
  });

  test.each(['client', 'server'] as const)('closes both sides if the %s vanishes', async (side) => {
    const to = await backend(echo);
    const { port, proxy, tunnels } = await front(to.url);
    const socket = client(port);
    socket.write(`${ask()}hello`);
    await once(socket, 'data');
    expect(proxy.open).toBe(1);
    if (side === 'client') socket.resetAndDestroy();
    else to.sockets[0]?.resetAndDestroy();
    await Promise.all(tunnels);
    expect(proxy.open).toBe(0);
    if (!socket.closed) await once(socket, 'close');
  });

  test('relays an error response of the server', async () => {
    const body = 'unable to upgrade: missing upgrade headers';
    const refusal = `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    // It keeps the connection open, as Go does: the content length marks the end.
    const to = await backend(() => undefined, refusal);
    const { port, tunnels } = await front(to.url);
    expect(await exchange(port, ask())).toBe(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    await Promise.all(tunnels);
  });

  test.each([
    [
      'a refused connection',
      'http://127.0.0.1:1/x',
      'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    ['another scheme', 'unix:///run/x', 'error dialing backend: unknown scheme: unix'],
  ])('answers 500 with the reason for %s', async (_name, url, why) => {
    const { port, tunnels } = await front(url);
    const answer = await exchange(port, ask());
    expect(answer).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
    expect(answer.endsWith(`\r\n\r\n${why}\n`)).toBe(true);
    expect(errors).toEqual([why]);
    await Promise.all(tunnels);
  });

  test.each([
    ['closes instead of responding', '', /unexpected EOF\n$/],
    [
      'does not upgrade',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      /invalid upgrade response: status code 200\n$/,
    ],
    ['speaks another protocol', 'SSH-2.0-OpenSSH\r\n', /\n$/],
  ])('answers 500 for a server that %s', async (_name, answer, why) => {
    const to = await backend((socket) => socket.end(), answer);
    const { port, tunnels } = await front(to.url);
    const got = await exchange(port, ask());
    expect(got).toMatch(/^HTTP\/1\.1 500 /);
    expect(got).toMatch(why);
    await Promise.all(tunnels);
  });

  test('times out a server that never responds', async () => {
    const to = await backend(() => undefined, '');
    const { port, tunnels } = await front(to.url, { answerMs: 50 });
    expect(await exchange(port, ask())).toMatch(/the server did not respond in time\n$/);
    await Promise.all(tunnels);
  });

  test('leaves nothing open if the client disconnects before the server responds', async () => {
    const to = await backend(() => undefined, '');
    const { port, proxy, tunnels } = await front(to.url);
    const socket = client(port);
    socket.write(ask());
    while (to.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.resetAndDestroy();
    await Promise.all(tunnels);
    expect(proxy.open).toBe(0);
    expect(errors).toEqual([]);
  });

  test("closes idle connections after the timeout only; the port's timeouts do not apply", async () => {
    const to = await backend(echo);
    const { port, tunnels } = await front(to.url, { idleMs: 1_000 });
    const socket = client(port);
    socket.write(ask());
    const chunks: string[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    for (let at = 0; at < 6; at++) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      socket.write(`${at}`);
    }
    await once(socket, 'close');
    expect(chunks.join('')).toBe(`${switching}012345`);
    await Promise.all(tunnels);
  });

  test('closes the connection if one side has ended and the other stays silent', async () => {
    const to = await backend(() => undefined);
    const { port, tunnels } = await front(to.url, { lingerMs: 50 });
    const socket = client(port, true);
    socket.end(ask());
    expect(await readAll(socket)).toBe(switching);
    await Promise.all(tunnels);
  });

  test('closes every connection when the server closes', async () => {
    const to = await backend(echo);
    const { close, port, proxy, tunnels } = await front(to.url);
    const sockets = [client(port), client(port)];
    for (const socket of sockets) socket.write(`${ask()}x`);
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    expect(proxy.open).toBe(2);
    close();
    await Promise.all(tunnels);
    expect(proxy.open).toBe(0);
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  });

  describe('TLS towards the server', () => {
    const secureEcho = async (): Promise<string> => {
      const server = createHttps({ cert: certificate, key });
      const sockets = new WebSocketServer({ server });
      sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data as Buffer)));
      const port = await listening(server);
      closers.push(() => sockets.close());
      return `https://localhost:${port}/exec/abc`;
    };
    const say = async (port: number): Promise<string> => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      closers.push(() => socket.terminate());
      await once(socket, 'open');
      socket.send('hello');
      const [data] = (await once(socket, 'message')) as [Buffer];
      socket.close();
      await once(socket, 'close');
      return data.toString();
    };

    test('accepts a trusted certificate', async () => {
      const { port, tunnels } = await front(await secureEcho(), { tls: { ca: certificate } });
      expect(await say(port)).toBe('hello');
      await Promise.all(tunnels);
    });

    test('answers 500 for an untrusted certificate', async () => {
      const { port, tunnels } = await front(await secureEcho());
      expect(await exchange(port, ask())).toMatch(
        /error dialing backend: tls: failed to verify certificate: self-signed certificate\n$/,
      );
      await Promise.all(tunnels);
    });
  });
});
