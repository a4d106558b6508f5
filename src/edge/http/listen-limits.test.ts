import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type KeyPair, TestAuthority } from '../../../test/api-server/pki.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { Channel } from '../../base/channel.ts';
import type { HttpLimits } from './http-limits.ts';
import { type HttpListener, listenHttp } from './listen-http.ts';
import { listenHttps } from './listen-https.ts';

const authority = new TestAuthority();
const server = authority.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });
const admin = authority.issue({ commonName: 'admin', usage: 'client' });

let leaks: LeakCheck;
let open: { close(): Promise<void> | void }[] = [];
let handled = 0;

beforeEach(() => {
  leaks = checkLeaks();
  open = [];
  handled = 0;
});

afterEach(async () => {
  for (const each of open.toReversed()) await each.close();
  await leaks.assertNone();
});

const base = { host: '127.0.0.1', port: 0, flag: '--port' };

async function secure(limits: Partial<HttpLimits>, token?: string): Promise<HttpListener> {
  const changed = new Channel<void>();
  const listener = await listenHttps({
    ...base,
    handler: (request) => {
      handled++;
      if (token !== undefined && request.headers['authorization'] === token) request.admitted?.();
      return { status: request.certificate === undefined ? 401 : 200, headers: {}, body: 'x' };
    },
    certificate: { current: () => ({ certPem: server.cert, keyPem: server.key }), changed },
    clientAuthorities: { pem: () => authority.cert, changed },
    minVersion: 'TLSv1.2',
    ciphers: 'TLS_AES_128_GCM_SHA256',
    limits,
  });
  open.push(listener);
  return listener;
}

async function plain(limits: Partial<HttpLimits>): Promise<HttpListener> {
  const handler = () => {
    handled++;
    return { status: 200, headers: {}, body: 'x' };
  };
  const listener = await listenHttp({ ...base, handler, limits });
  open.push(listener);
  return listener;
}

interface Client {
  readonly socket: Socket;
  closed: boolean;
  text: string;
}

function watch(socket: Socket): Client {
  const client: Client = { socket, closed: false, text: '' };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString('latin1');
  });
  socket.on('close', () => {
    client.closed = true;
  });
  open.push({ close: () => void socket.destroy() });
  return client;
}

const tcp = ({ port }: HttpListener, localAddress = '127.0.0.1'): Client =>
  watch(connectTcp({ host: '127.0.0.1', port, localAddress }));

function ask({ port }: HttpListener, pair?: KeyPair): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(
      { host: '127.0.0.1', port, agent: false, ca: authority.cert, ...(pair && { ...pair }) },
      (incoming) => {
        incoming.resume();
        incoming.once('end', () => resolve(incoming.statusCode ?? 0));
      },
    );
    outgoing.once('error', reject);
    outgoing.end();
  });
}

test('a peer that fills its own share of connections does not affect another peer', async () => {
  const listener = await secure({ unknownConnections: 4, unknownConnectionsPerPeer: 4 });
  const idle = Array.from({ length: 4 }, () => tcp(listener, '127.0.0.2'));
  await expect.poll(() => idle.filter(({ socket }) => !socket.connecting).length).toBe(4);
  expect(await ask(listener, admin)).toBe(200);
  await expect.poll(() => idle.filter(({ closed }) => closed).length).toBe(1);
});

test('drops the oldest idle connection of a peer for a new one once it is a second old', async () => {
  const listener = await plain({ unknownConnectionsPerPeer: 2 });
  const first = tcp(listener);
  const second = tcp(listener);
  await expect.poll(() => second.socket.connecting).toBe(false);
  await new Promise((resolve) => void setTimeout(resolve, 1_100));
  const third = tcp(listener);
  await expect.poll(() => first.closed).toBe(true);
  expect([second.closed, third.closed]).toEqual([false, false]);
  const fourth = tcp(listener);
  await expect.poll(() => second.closed).toBe(true);
  const fifth = tcp(listener);
  await expect.poll(() => fifth.closed).toBe(true);
  expect([third.closed, fourth.closed]).toEqual([false, false]);
});

test('accepts a client with a verified certificate from a full address once the address is known', async () => {
  const listener = await secure({ unknownConnectionsPerPeer: 2 });
  expect(await ask(listener, admin)).toBe(200);
  const idle = Array.from({ length: 6 }, () => tcp(listener));
  await expect.poll(() => idle.filter(({ socket }) => !socket.connecting).length).toBe(6);
  expect(await ask(listener, admin)).toBe(200);
  expect(idle.filter(({ closed }) => closed)).toEqual([]);
});

test('accepts a client with a verified certificate during a flood from its own address', async () => {
  const listener = await secure({ knownPeerConnections: 8, knownHandshakesPerSecond: 4 });
  expect(await ask(listener, admin)).toBe(200);
  const idle = Array.from({ length: 100 }, () => tcp(listener));
  await expect.poll(() => idle.filter(({ closed }) => closed).length).toBe(92);
  expect(await ask(listener, admin)).toBe(200);
});

test('queues handshakes above the rate, but not those of a known address', async () => {
  const listener = await secure({ handshakesPerPeerPerSecond: 1 });
  const times = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const beganMs = performance.now();
      await ask(listener);
      return performance.now() - beganMs;
    }),
  );
  expect(times.filter((ms) => ms > 900).length).toBeGreaterThanOrEqual(2);
  await ask(listener, admin);
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: 12 }, () => ask(listener)));
  // Rate-limited, they would take ten seconds.
  expect(performance.now() - beganMs).toBeLessThan(8_000);
});

test('closes idle connections of unknown clients soon, but not those with a certificate', async () => {
  const listener = await secure({ unknownIdleMs: 300 });
  const options = { host: '127.0.0.1', port: listener.port, ca: authority.cert };
  const unknown = watch(connectTls(options));
  const known = watch(connectTls({ ...options, ...admin }));
  await expect.poll(() => unknown.closed, { timeout: 5_000 }).toBe(true);
  expect(known.closed).toBe(false);
});

test('closes a connection with too many pipelined requests without handling them', async () => {
  const listener = await plain({ pipelined: 4 });
  const client = tcp(listener);
  client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5_000));
  await expect.poll(() => client.closed).toBe(true);
  expect(handled).toBeLessThanOrEqual(4);
});

// Node documents no way to stop its parser; without the undocumented property, all of them would become requests.
test.each<[string, Partial<HttpLimits>]>([
  ['more pipelined requests than allowed', {}],
  ['more requests per second than allowed', { unknownRequestsPerPeerPerSecond: 1 }],
])('stops Node from parsing a burst: %s', async (_, limits) => {
  let parsed = 0;
  const onRequest = (): void => {
    parsed++;
  };
  subscribe('http.server.request.start', onRequest);
  open.push({ close: () => void unsubscribe('http.server.request.start', onRequest) });
  const listener = await plain(limits);
  const client = tcp(listener);
  client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000));
  await expect.poll(() => client.closed).toBe(true);
  expect(parsed).toBeGreaterThan(0);
  expect(parsed).toBeLessThan(20);
  expect(handled).toBeLessThanOrEqual(4);
});

test('answers 429 and disconnects a peer that sends too many requests', async () => {
  const listener = await plain({ unknownRequestsPerPeerPerSecond: 1 });
  const answers: Client[] = [];
  for (let each = 0; each < 3; each++) {
    const client = tcp(listener);
    answers.push(client);
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => client.text).toMatch(/x$|429/);
  }
  expect(answers.map(({ text }) => text.slice(9, 12))).toEqual(['200', '200', '429']);
  await expect.poll(() => answers[2]?.closed).toBe(true);
  expect(handled).toBe(2);
});

test('limits the streams of an HTTP/2 session until its client is admitted', async () => {
  const listener = await secure({ unknownStreams: 3, admittedStreams: 77 }, 'good');
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
  open.push({ close: () => session.destroy() });
  await new Promise<void>((resolve) => void session.once('remoteSettings', () => resolve()));
  expect(session.remoteSettings.maxConcurrentStreams).toBe(3);
  session.request({ ':path': '/', authorization: 'good' }).resume();
  await expect.poll(() => session.remoteSettings.maxConcurrentStreams).toBe(77);
});

test.each(['ping', 'requests'] as const)('a flood of %s ends an HTTP/2 session', async (what) => {
  const listener = await secure({ unknownControlFrames: 5, unknownRequestsPerPeerPerSecond: 1 });
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
  session.on('error', () => undefined);
  open.push({ close: () => session.destroy() });
  await new Promise<void>((resolve) => void session.once('remoteSettings', () => resolve()));
  for (let each = 0; each < 100 && !session.destroyed; each++) {
    if (what === 'ping') session.ping(() => undefined);
    else
      session
        .request({ ':path': '/' })
        .on('error', () => undefined)
        .resume();
    await new Promise((resolve) => void setTimeout(resolve, 2));
  }
  await expect.poll(() => session.destroyed).toBe(true);
  expect(handled).toBeLessThan(50);
});
