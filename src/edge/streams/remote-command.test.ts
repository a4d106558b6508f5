// Sessions of real WebSocket clients (ws) and hostile ones with a scripted SPDY server.
import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type SpdyServer, type SpdySession, serveSpdy } from '../../../test/fakes/spdy-server.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { RemoteCommandStreams } from '../../api/ports/http.ts';
import { internalError, statusFrom } from './exec-status.ts';
import type { RemoteCommandOptions } from './remote-command.ts';
import { StreamProxy } from './stream-proxy.ts';

const all: RemoteCommandStreams = { stdin: true, stdout: true, stderr: true, tty: false };

let leaks: LeakCheck;
let runtime: SpdyServer;
let servers: Server[];
let proxies: StreamProxy[];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 5_000 });
  servers = [];
  proxies = [];
  runtime = await serveSpdy();
});

afterEach(async () => {
  for (const proxy of proxies) await expect.poll(() => proxy.open, { timeout: 5_000 }).toBe(0);
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await runtime.close();
  await leaks.assertNone();
});

/** A kubelet's port: every upgrade is a session with the runtime. */
async function kubelet(
  streams: RemoteCommandStreams = all,
  options: Partial<RemoteCommandOptions> = {},
  url = runtime.url,
): Promise<{ readonly port: number; readonly proxy: StreamProxy; readonly abort: () => void }> {
  const proxy = new StreamProxy({ idleMs: 0, lingerMs: 300, drainMs: 300, ...options });
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const server = createServer();
  server.on('upgrade', (request, socket: Socket, head) => {
    void proxy.proxy(request, socket, head, { proxyTo: url, webSocket: streams }, abort.signal);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  proxies.push(proxy);
  return { port: (server.address() as AddressInfo).port, proxy, abort: () => abort.abort() };
}

interface Client {
  readonly socket: WebSocket;
  readonly output: Record<number, string>;
  readonly closed: Promise<number>;
  send(channel: number, ...rest: readonly (string | number)[]): void;
}

function client(port: number): Client {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/exec`, ['v5.channel.k8s.io']);
  const output: Record<number, string> = {};
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? -1;
    output[channel] = `${output[channel] ?? ''}${data.subarray(1).toString()}`;
  });
  const closed = new Promise<number>((resolve) => {
    socket.once('close', resolve);
  });
  socket.on('error', () => undefined);
  const send: Client['send'] = (channel, ...rest) =>
    socket.send(
      Buffer.concat([
        Buffer.from([channel]),
        ...rest.map((each) => Buffer.from(typeof each === 'string' ? each : [each])),
      ]),
    );
  return { socket, output, closed, send };
}

async function session(port: number, ...types: readonly string[]): Promise<[Client, SpdySession]> {
  const user = client(port);
  const spdy = await runtime.next();
  await spdy.untilStreams('error', ...types);
  return [user, spdy];
}

const exited = (code: number): string =>
  JSON.stringify({
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  });

describe('a session', () => {
  test('carries stdin, stdout, stderr and the exit code', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdin', 'stdout', 'stderr');
    expect(spdy.request.method).toBe('POST');
    expect(spdy.request.headers['x-stream-protocol-version']).toBe(
      'v5.channel.k8s.io, v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io, channel.k8s.io',
    );
    user.send(0, 'input');
    await expect.poll(() => spdy.received('stdin')).toBe('input');
    spdy.write('stdout', 'out');
    spdy.write('stderr', 'err');
    spdy.write('error', exited(3));
    spdy.close();
    expect(await user.closed).toBe(1000);
    expect(user.output).toMatchObject({ 1: 'out', 2: 'err' });
    expect(user.output[3]).toBe(
      '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}',
    );
    expect(user.socket.protocol).toBe('v5.channel.k8s.io');
  });

  test('starts with an empty message on the lowest output channel', async () => {
    for (const [streams, want] of [
      [all, { 1: '' }],
      [{ ...all, stdout: false }, { 2: '' }],
      [{ ...all, stdout: false, stderr: false }, { 3: '' }],
    ] as const) {
      const { port } = await kubelet(streams);
      const [user, spdy] = await session(port);
      await expect.poll(() => user.output).toEqual(want);
      spdy.close();
      await user.closed;
    }
  });

  test('closes stdin alone by the close signal', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdin');
    user.send(0, 'last');
    user.send(255, 0);
    user.send(255, 0);
    user.send(0, 'ignored');
    await expect.poll(() => spdy.streams.get('stdin')?.ended).toBe(true);
    expect(spdy.received('stdin')).toBe('last');
    spdy.write('stdout', 'still open');
    spdy.close();
    await user.closed;
    expect(user.output[1]).toBe('still open');
    expect(JSON.parse(user.output[3] ?? '')).toEqual({ metadata: {}, status: 'Success' });
  });

  test('passes terminal sizes on, with a terminal only', async () => {
    const { port } = await kubelet({ stdin: true, stdout: true, stderr: false, tty: true });
    const [user, spdy] = await session(port, 'resize');
    expect([...spdy.streams.keys()]).toEqual(['error', 'stdin', 'stdout', 'resize']);
    user.send(4, '{"Width":100,"Height":40}');
    await expect.poll(() => spdy.received('resize')).toBe('{"Width":100,"Height":40}');
    spdy.close();
    await user.closed;

    const plain = await kubelet();
    const [other, piped] = await session(plain.port, 'stdin');
    for (let at = 0; at < 10; at++) other.send(4, '{}');
    other.send(0, 'not blocked');
    await expect.poll(() => piped.received('stdin')).toBe('not blocked');
    expect([...piped.streams.keys()]).toEqual(['error', 'stdin', 'stdout', 'stderr']);
    piped.close();
    await other.closed;
  });

  test('ignores channels that carry no input, and empty messages', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdin');
    for (const channel of [1, 2, 3, 4, 5, 77, 254]) user.send(channel, 'x');
    user.socket.send(Buffer.alloc(0));
    user.socket.send('\0text');
    await expect.poll(() => spdy.received('stdin')).toBe('text');
    spdy.close();
    await user.closed;
  });

  test.each([
    ['a close signal without a channel', [255]],
    ['a close signal with two channels', [255, 0, 0]],
    ['a close signal for an unknown channel', [255, 9]],
  ])('ends at %s', async (_name, message) => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdin');
    user.socket.send(Buffer.from(message));
    expect(await user.closed).toBe(1000);
    await expect.poll(() => spdy.streams.get('stdin')?.ended).toBe(true);
  });

  test('answers pings and pings the runtime, not the client', async () => {
    const { port } = await kubelet(all, { pingMs: 10 });
    const [user, spdy] = await session(port, 'stdin');
    const pinged = once(user.socket, 'pong');
    let pings = 0;
    user.socket.on('ping', () => pings++);
    user.socket.ping('are you there');
    expect(String((await pinged)[0])).toBe('are you there');
    spdy.ping(2);
    await expect.poll(() => spdy.control.filter((type) => type === 6).length).toBeGreaterThan(3);
    expect(pings).toBe(0);
    spdy.close();
    await user.closed;
  });

  test('ends after the idle timeout, which data postpones and pings do not', async () => {
    // Long against the gaps between the writes, which a busy machine extends.
    const { port } = await kubelet(all, { idleMs: 600, pingMs: 10 });
    const [user, spdy] = await session(port, 'stdin');
    const beganMs = Date.now();
    const pings = setInterval(() => user.socket.ping(), 20);
    for (let at = 0; at < 5; at++) {
      await new Promise((done) => setTimeout(done, 60));
      spdy.write('stdout', '.');
    }
    expect(await user.closed).toBe(1001);
    clearInterval(pings);
    expect(Date.now() - beganMs).toBeGreaterThan(800);
    expect(user.output[1]).toBe('.....');
  });
});

describe('a client', () => {
  test('that disconnects ends stdin, and what it sent arrives', async () => {
    for (const leave of ['close', 'terminate'] as const) {
      const { port } = await kubelet();
      const [user, spdy] = await session(port, 'stdin');
      user.send(0, 'before');
      await expect.poll(() => user.socket.bufferedAmount).toBe(0);
      if (leave === 'terminate') await expect.poll(() => spdy.received('stdin')).toBe('before');
      user.socket[leave]();
      await expect.poll(() => spdy.socket.closed).toBe(true);
      expect(spdy.received('stdin')).toBe('before');
      // Nothing was reset: the runtime decides what becomes of the command.
      expect(spdy.control).not.toContain(3);
    }
  });

  test('that does not read stops the runtime, and nothing is lost', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdout');
    user.socket.pause();
    const block = Buffer.alloc(65_536, 'x');
    let written = 0;
    while (written < 64 * 1024 * 1024 && spdy.socket.writableLength < 4 * 1024 * 1024) {
      spdy.write('stdout', block);
      written += block.length;
      await new Promise((done) => setTimeout(done, 1));
    }
    expect(written).toBeLessThan(64 * 1024 * 1024);
    let read = 0;
    user.socket.on('message', (data: Buffer) => {
      if (data[0] === 1) read += data.length - 1;
    });
    user.socket.resume();
    spdy.close();
    await user.closed;
    expect(read).toBe(written);
    expect(JSON.parse(user.output[3] ?? '')).toMatchObject({ status: 'Success' });
  });

  test('is paused while the runtime does not read, and noticed when it disconnects', async () => {
    const { port, proxy } = await kubelet(all, { pingMs: 20 });
    const [user, spdy] = await session(port, 'stdin');
    spdy.socket.pause();
    for (let at = 0; at < 400; at++) user.socket.send(Buffer.alloc(65_536));
    await new Promise((done) => setTimeout(done, 200));
    expect(user.socket.bufferedAmount).toBeGreaterThan(1024 * 1024);
    user.socket.terminate();
    await expect.poll(() => proxy.open, { timeout: 5_000 }).toBe(0);
  });

  test.each([
    ['garbage', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1002],
    ['a frame without a mask', Buffer.from([0x82, 2, 0, 65]), 1002],
  ])('that sends %s is closed', async (_name, bytes, code) => {
    const { port } = await kubelet();
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(handshake);
    const spdy = await runtime.next();
    await spdy.untilStreams('stdin');
    socket.write(bytes);
    await once(socket, 'end');
    expect(Buffer.concat(chunks).subarray(-2).readUInt16BE(0)).toBe(code);
    socket.destroy();
  });

  test('may send input along with its request', async () => {
    const { port } = await kubelet();
    const socket = connect(port, '127.0.0.1');
    socket.write(Buffer.concat([Buffer.from(handshake), Buffer.from([0x82, 0x83, 0, 0, 0, 0, 0, 104, 105])]));
    const spdy = await runtime.next();
    await expect.poll(() => spdy.received('stdin')).toBe('hi');
    socket.destroy();
  });

  test.each([
    ['POST', '', 'HTTP/1.1 405 Method Not Allowed\r\n', 'bad method'],
    ['GET', 'Sec-WebSocket-Version: 13\r\n', 'HTTP/1.1 400 Bad Request\r\n', 'mismatch challenge/response'],
    [
      'GET',
      `Sec-WebSocket-Key: ${'x'.repeat(999)}\r\n`,
      'HTTP/1.1 400 Bad Request\r\n',
      'mismatch challenge/response',
    ],
    [
      'GET',
      'Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 8\r\n',
      'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n',
      'missing or bad WebSocket Version',
    ],
  ])('with an invalid handshake (%s %j) is rejected', async (method, headers, start, body) => {
    const { port } = await kubelet();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `${method} / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`,
    );
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
    });
    await once(socket, 'end');
    expect(got).toBe(`${start}Connection: close\r\n\r\n${body}`);
    socket.destroy();
  });
});

const handshake =
  'GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n';

describe('the runtime', () => {
  test('that cannot be reached is reported on the error channel', async () => {
    const { port } = await kubelet(all, {}, 'http://127.0.0.1:1/exec/token');
    const user = client(port);
    expect(await user.closed).toBe(1000);
    const why =
      'error sending request: Post "http://127.0.0.1:1/exec/token": dial tcp 127.0.0.1:1: connect: connection refused';
    expect(user.output[3]).toBe(internalError(why));
  });

  test('that refuses the URL is reported with its text', async () => {
    const server = createServer((_request, response) =>
      response.writeHead(404).end('{"message":"no such token"}'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/gone`;
    const { port } = await kubelet(all, {}, url);
    const user = client(port);
    await user.closed;
    expect(user.output[3]).toBe(internalError('unable to upgrade connection: no such token'));
  });

  test('that does not answer is given up', async () => {
    const server = createServer();
    server.on('upgrade', (_request, socket) => socket.once('end', () => socket.destroy()).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/x`;
    const { port } = await kubelet(all, { answerMs: 50 }, url);
    const user = client(port);
    await user.closed;
    expect(user.output[3]).toContain('the server did not respond in time');
  });

  test('that dies during a command is not success', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdout');
    spdy.write('stdout', 'partly');
    await expect.poll(() => user.output[1]).toBe('partly');
    spdy.socket.resetAndDestroy();
    expect(await user.closed).toBe(1000);
    expect(JSON.parse(user.output[3] ?? '')).toMatchObject({ status: 'Failure', reason: 'InternalError' });
  });

  test('that sends something else than SPDY ends the session', async () => {
    const { port } = await kubelet();
    const [user, spdy] = await session(port, 'stdout');
    spdy.socket.write(Buffer.alloc(64, 0xff));
    await user.closed;
    expect(user.output[3]).toBe(internalError('unsupported SPDY version'));
  });
});

test('sessions end when the kubelet stops', async () => {
  const { abort, port, proxy } = await kubelet();
  const [user, spdy] = await session(port, 'stdin');
  abort();
  await user.closed;
  await expect.poll(() => [proxy.open, spdy.socket.closed]).toEqual([0, true]);
});

test('many sessions at once carry their own data', async () => {
  const { port } = await kubelet();
  const users = Array.from({ length: 100 }, () => client(port));
  for (const [at, user] of users.entries()) {
    user.socket.once('open', () => {
      user.send(0, `session ${at}`);
      user.send(255, 0);
    });
  }
  for (let at = 0; at < users.length; at++) {
    void runtime.next().then(async (spdy): Promise<undefined> => {
      await expect.poll(() => spdy.streams.get('stdin')?.ended, { timeout: 10_000 }).toBe(true);
      spdy.write('stdout', `echo ${spdy.received('stdin')}`);
      spdy.close();
      return undefined;
    });
  }
  await Promise.all(users.map(({ closed }) => closed));
  expect(users.map(({ output }) => output[1])).toEqual(users.map((_, at) => `echo session ${at}`));
});

test.each([
  ['v4.channel.k8s.io', '', '"status":"Success"'],
  ['v4.channel.k8s.io', '{"status":"Success"}', '"status":"Success"'],
  [
    'v4.channel.k8s.io',
    '{"status":"Failure","message":"no <such> file"}',
    'Internal error occurred: no \\u003csuch\\u003e file',
  ],
  ['v4.channel.k8s.io', '{"status":"Failure","reason":"NonZeroExitCode"}', 'details must be set'],
  [
    'v4.channel.k8s.io',
    '{"status":"Failure","reason":"NonZeroExitCode","details":{}}',
    'no ExitCode cause given',
  ],
  [
    'v4.channel.k8s.io',
    '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"256"}]}}',
    'invalid exit code value \\"256\\"',
  ],
  ['v4.channel.k8s.io', '{}', 'error stream protocol error: unknown error'],
  ['v4.channel.k8s.io', 'plain', 'error stream protocol error: '],
  ['v2.channel.k8s.io', 'plain', 'error executing remote command: plain'],
])('the status of %s %j has %s', (protocol, message, want) => {
  expect(statusFrom(Buffer.from(message), protocol)).toContain(want);
});
