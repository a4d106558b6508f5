// SPDY tunnelled through a WebSocket (port-forward), with a real WebSocket client (ws).
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { openTunnel } from '../../../test/clients/tunnel-client.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { StreamProxy } from './stream-proxy.ts';
import type { UpgradeProxyOptions } from './upgrade-proxy.ts';

let leaks: LeakCheck;
let servers: Server[];
let proxies: StreamProxy[];

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 5_000 });
  servers = [];
  proxies = [];
});

afterEach(async () => {
  for (const proxy of proxies) await expect.poll(() => proxy.open, { timeout: 5_000 }).toBe(0);
  for (const server of servers) server.close();
  await leaks.assertNone();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Runtime {
  readonly url: string;
  readonly requests: IncomingMessage[];
  readonly sockets: Socket[];
}

const accepted =
  'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\nfirst ';

/** Switches protocols; `then` gets the socket. */
async function runtime(then: (socket: Socket) => void, headers = accepted): Promise<Runtime> {
  const requests: IncomingMessage[] = [];
  const sockets: Socket[] = [];
  const server = createServer((_request, response) => response.writeHead(403).end('unable to negotiate'));
  server.on('upgrade', (request, socket: Socket) => {
    requests.push(request);
    sockets.push(socket);
    socket.allowHalfOpen = true;
    socket.on('error', () => socket.destroy());
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}`);
    then(socket);
  });
  return { url: `http://127.0.0.1:${await listen(server)}/portforward/token`, requests, sockets };
}

async function kubelet(url: string, options: Partial<UpgradeProxyOptions> = {}): Promise<number> {
  const proxy = new StreamProxy({ idleMs: 0, lingerMs: 300, ...options });
  proxies.push(proxy);
  const server = createServer();
  server.on('upgrade', (request, socket: Socket, head) => {
    void proxy.proxy(request, socket, head, { proxyTo: url, webSocket: 'tunnel' });
  });
  return await listen(server);
}

interface Client {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  readonly protocol: () => string | undefined;
  received(): string;
}

function client(
  port: number,
  protocols: readonly string[] = ['SPDY/3.1+portforward.k8s.io', 'other'],
): Client {
  const headers = { authorization: 'Bearer secret', 'x-mine': 'kept' };
  const { protocol, socket } = openTunnel(`ws://127.0.0.1:${port}/portForward`, protocols, { headers });
  const chunks: Buffer[] = [];
  socket.on('message', (data: Buffer) => chunks.push(data));
  socket.on('error', () => undefined);
  const closed = new Promise<number>((resolve) => {
    socket.once('close', resolve);
  });
  return { socket, protocol, closed, received: () => Buffer.concat(chunks).toString() };
}

test('the runtime gets SPDY, the client the protocol that the runtime chose', async () => {
  const to = await runtime((socket) => void socket.pipe(socket));
  const user = client(await kubelet(to.url));
  await once(user.socket, 'open');
  expect(user.protocol()).toBe('SPDY/3.1+portforward.k8s.io');
  user.socket.send(Buffer.from('ping'));
  await expect.poll(() => user.received()).toBe('first ping');
  const { headers, method } = to.requests[0] ?? {};
  expect(method).toBe('POST');
  expect(headers).toMatchObject({
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': 'portforward.k8s.io',
    'x-mine': 'kept',
  });
  for (const gone of [
    'authorization',
    'sec-websocket-key',
    'sec-websocket-protocol',
    'sec-websocket-version',
  ]) {
    expect(headers).not.toHaveProperty(gone);
  }
  user.socket.close(1000);
  expect(await user.closed).toBe(1000);
});

test('carries much data in both directions unchanged', async () => {
  const to = await runtime((socket) => void socket.pipe(socket));
  const user = client(await kubelet(to.url));
  await once(user.socket, 'open');
  let sent = '';
  for (let at = 0; at < 200; at++) {
    const text = `${at} `.repeat(10_000);
    sent += text;
    user.socket.send(Buffer.from(text), { fin: at % 2 === 1 });
  }
  await expect.poll(() => user.received().length, { timeout: 10_000 }).toBe(sent.length + 6);
  expect(user.received() === `first ${sent}`).toBe(true);
  user.socket.close();
  await user.closed;
});

test('the end of the runtime closes the client with code 1000', async () => {
  const to = await runtime((socket) => socket.end('last'));
  const user = client(await kubelet(to.url));
  expect(await user.closed).toBe(1000);
  expect(user.received()).toBe('first last');
});

test('a dead runtime and a vanished client end the other side', async () => {
  const to = await runtime(() => undefined);
  const user = client(await kubelet(to.url));
  await once(user.socket, 'open');
  to.sockets[0]?.resetAndDestroy();
  expect(await user.closed).toBe(1000);

  const second = client(await kubelet(to.url));
  await once(second.socket, 'open');
  second.socket.terminate();
  to.sockets[1]?.resume();
  await expect.poll(() => to.sockets[1]?.readableEnded === true || to.sockets[1]?.destroyed).toBe(true);
  to.sockets[1]?.destroy();
});

test('a text message is refused', async () => {
  const to = await runtime((socket) => socket.resume().once('end', () => socket.end()));
  const user = client(await kubelet(to.url));
  await once(user.socket, 'open');
  user.socket.send('text');
  expect(await user.closed).toBe(1003);
});

test('pings are answered', async () => {
  const to = await runtime((socket) => socket.resume().once('end', () => socket.end()));
  const user = client(await kubelet(to.url));
  await once(user.socket, 'open');
  user.socket.ping('hello');
  expect(String((await once(user.socket, 'pong'))[0])).toBe('hello');
  user.socket.close();
  await user.closed;
});

test('an idle tunnel is closed', async () => {
  const to = await runtime((socket) => socket.resume().once('end', () => socket.end()));
  const user = client(await kubelet(to.url, { idleMs: 100 }));
  expect(await user.closed).toBe(1006);
});

test.each([
  ['a rejection', 'Connection: close\r\n\r\n', 500],
  ['another protocol', 'Connection: Upgrade\r\nUpgrade: other\r\n\r\n', 500],
])('%s of the runtime is an error response', async (_name, headers, status) => {
  const to = await runtime((socket) => socket.end(), headers);
  const user = client(await kubelet(to.url));
  const [err] = (await once(user.socket, 'error')) as [Error];
  expect(err.message).toBe(`Unexpected server response: ${status}`);
});

test('an unreachable runtime is an error response', async () => {
  const errors: unknown[] = [];
  const user = client(await kubelet('http://127.0.0.1:1/x', { onError: (err) => errors.push(err) }));
  const [err] = (await once(user.socket, 'error')) as [Error];
  expect(err.message).toBe('Unexpected server response: 500');
  expect(String(errors)).toContain(
    'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused',
  );
});
