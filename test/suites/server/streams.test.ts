// exec, attach and port-forward in memory: a port, the handlers, the proxy, and the fake runtime's streaming server.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { NamespaceMode } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../../src/api/cri/labels.ts';
import { podUid } from '../../../src/api/pod/pod-ref.ts';
import { realClock } from '../../../src/base/clock.ts';
import { Verbosity } from '../../../src/base/log/log.ts';
import { textLogger } from '../../../src/base/log/log-text.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { type HttpListener, listenHttp } from '../../../src/edge/http/listen-http.ts';
import { StreamProxy } from '../../../src/edge/streams/stream-proxy.ts';
import { route } from '../../../src/server/router.ts';
import { routesOf } from '../../../src/server/routes.ts';
import { streamHandlers, streamProxyOptions } from '../../../src/server/streams/stream-handlers.ts';
import { StreamMetrics } from '../../../src/server/streams/stream-metrics.ts';
import { aPod } from '../../builders/builders.ts';
import { FakeCri, fakeBusybox } from '../../fake-cri/fake-cri.ts';
import { type StreamServer, serveStreams } from '../../fake-cri/stream-server.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';

let leaks: LeakCheck;
let cri: FakeCri;
let streams: StreamServer;
let port: HttpListener;
let proxy: StreamProxy;
let log: string[];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 5_000 });
  log = [];
  cri = new FakeCri({ clock: realClock });
  streams = await serveStreams(cri);
  const pod = aPod();
  const logger = textLogger({
    write: (line) => void log.push(line),
    clock: realClock,
    verbosity: new Verbosity(2),
    pid: 1,
  });
  proxy = new StreamProxy(streamProxyOptions({ streamingConnectionIdleTimeout: { ms: 0 } }, logger));
  const handlers = streamHandlers({
    desired: { all: () => [{ uid: podUid(pod), pod, source: 'api' }] },
    cri,
    webSockets: true,
    metrics: new StreamMetrics(new Metrics()),
  });
  const settings = {
    port: 'secure',
    enableDebuggingHandlers: true,
    enableSystemLogHandler: false,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
    gates: { ContainerCheckpoint: false, ComponentStatusz: false, ComponentFlagz: false },
  } as const;
  const handler = route(routesOf(settings, { ...handlers }));
  port = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    flag: '--port',
    handler,
    proxyUpgrade: (...args) => proxy.proxy(...args),
  });
  await runContainer();
});

afterEach(async () => {
  await port.close();
  await streams.close();
  cri.close();
  await leaks.assertNone();
});

async function runContainer(): Promise<void> {
  const labels = { [criLabels.podUid]: 'uid-p' };
  const metadata = { name: 'p', namespace: 'default', uid: 'uid-p' };
  const { podSandboxId } = await cri.runPodSandbox({ config: { metadata, labels } });
  const linux = { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } };
  const image = { image: fakeBusybox.name };
  const config = { metadata: { name: 'c' }, image, command: ['sleep', '100000'], linux, labels };
  const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig: {} });
  await cri.startContainer({ containerId });
}

interface Ended {
  readonly protocol: string;
  readonly channels: Readonly<Record<number, string>>;
}

/** The output on each channel of a WebSocket until its end. */
async function overWebSocket(path: string, offered: readonly string[]): Promise<Ended> {
  const socket = new WebSocket(`ws://127.0.0.1:${port.port}${path}`, [...offered]);
  const channels: Record<number, string> = {};
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? -1;
    channels[channel] = `${channels[channel] ?? ''}${data.subarray(1).toString()}`;
  });
  await once(socket, 'close');
  return { protocol: socket.protocol, channels };
}

async function overSpdy(path: string): Promise<Socket> {
  const socket = connect(port.port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: node',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'Authorization: Bearer secret',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\nhead `);
  return socket;
}

async function readUntil(socket: Socket, wanted: RegExp): Promise<string> {
  let got = '';
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    got += chunk.toString('latin1');
    if (wanted.test(got)) return got;
  }
}

test('a WebSocket carries outputs, the exit status and the protocol that the runtime selected', async () => {
  const command = ['sh', '-c', 'echo out; echo err >&2; exit 3'].map(
    (each) => `&command=${encodeURIComponent(each)}`,
  );
  const ended = await overWebSocket(`/exec/default/p/c?output=1&error=1${command.join('')}`, [
    'v4.channel.k8s.io',
    'channel.k8s.io',
  ]);
  expect(ended.protocol).toBe('v4.channel.k8s.io');
  expect(ended.channels).toMatchObject({ 1: 'out\n', 2: 'err\n' });
  expect(JSON.parse(ended.channels[3] ?? '')).toMatchObject({
    status: 'Failure',
    details: { causes: [{ reason: 'ExitCode', message: '3' }] },
  });
  expect(proxy.open).toBe(0);
});

test('SPDY is switched by the runtime and proxied in both directions, without the client’s token', async () => {
  const socket = await overSpdy('/portForward/default/p');
  const got = await readUntil(socket, /head $/);
  expect(got).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  expect(got).toContain('X-Stream-Protocol-Version: v4.channel.k8s.io');
  socket.write('more');
  expect(await readUntil(socket, /more$/)).toBe('more');
  expect(streams.requests[0]?.headers).not.toHaveProperty('authorization');
  expect([proxy.open, streams.open]).toEqual([1, 1]);
  socket.destroy();
});

test('a dead runtime cuts off the client, and the next request reports the cause', async () => {
  const socket = await overSpdy('/attach/default/p/c?output=1');
  await readUntil(socket, /head $/);
  streams.cut();
  await once(socket, 'close');
  await expect.poll(() => proxy.open).toBe(0);
  cri.streaming.base = 'http://127.0.0.1:1';
  const late = await overSpdy('/exec/default/p/c?output=1');
  const refused = /error dialing backend: dial tcp 127\.0\.0\.1:1: connect: connection refused\n$/;
  expect(await readUntil(late, refused)).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
  expect(log.join('\n')).toContain('Failed to proxy streaming request');
  late.destroy();
});

test('streams end when the kubelet stops', async () => {
  const socket = await overSpdy('/exec/default/p/c?output=1');
  await readUntil(socket, /head $/);
  const closed = once(socket, 'close');
  await port.close();
  await closed;
  expect(proxy.open).toBe(0);
});

test('a rejected stream gets a response and is closed', async () => {
  const socket = await overSpdy('/exec/default/absent/c?output=1');
  expect(await readUntil(socket, /pod does not exist$/)).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
  socket.destroy();
});
