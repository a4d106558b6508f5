import { describe, expect, test } from 'vitest';
import { untilAborted } from '../base/abort/race-abort.ts';
import { type Logger, silentLogger } from '../base/log/log.ts';
import { asResponse, bodyText, httpRequest } from './fixtures/requests.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './http-message.ts';
import { dashboardAt, pagePorts } from './page-ports.ts';
import { routeTable } from './route-table.ts';

const token = 'the-token';

interface Opened {
  readonly at: string;
  readonly handler: HttpHandler;
}

async function open(
  over: { port?: number; address?: string; enableServer?: boolean; debugging?: boolean } = {},
) {
  const opened: Opened[] = [];
  const { address = '127.0.0.1', debugging = true, enableServer = true, port = 4194 } = over;
  const components = pagePorts({
    config: {
      enableServer,
      enableDebuggingHandlers: debugging,
      enableSystemLogHandler: true,
      enableProfilingHandler: true,
      enableDebugFlagsHandler: true,
    },
    gates: { ContainerCheckpoint: true, ComponentFlagz: true, ComponentStatusz: true },
    flags: { dashboardAddress: address, dashboardPort: port, rootDir: '/r' },
    handlers: Object.fromEntries(
      routeTable.map(({ name }) => [name, () => ({ status: 200, headers: {}, body: name })]),
    ),
    token: {
      name: 'dashboard-token',
      start: async (signal) => ({ stopped: untilAborted(signal) }),
      matches: (text) => text === token,
    },
    metrics: { instrument: (_type, _routes, handler) => handler },
    listen: async ({ flag, handler, host, port: at }) => {
      opened.push({ at: `${host} ${at} ${flag}`, handler });
      return { host, port: at, close: async () => undefined };
    },
    listenUnix: async ({ handler, path }) => {
      opened.push({ at: path, handler });
      return { close: async () => undefined };
    },
    log: silentLogger,
  });
  const stop = new AbortController();
  for (const each of components) await each.start(stop.signal);
  stop.abort();
  return { names: components.map(({ name }) => name), opened };
}

/** Handlers of the loopback port and of the local socket. */
async function handlers(over: Parameters<typeof open>[0] = {}) {
  const { opened } = await open(over);
  const of = (part: string): HttpHandler => {
    const found = opened.find(({ at }) => at.includes(part));
    if (found === undefined) throw new Error(`${part} was not opened`);
    return found.handler;
  };
  return { loopback: of('--dashboard-port'), socket: of('.sock') };
}

async function ask(
  handler: HttpHandler,
  line: string,
  headers: HttpRequest['headers'] = {},
  more: Partial<HttpRequest> = {},
): Promise<HttpResponse> {
  const request = httpRequest(line, { headers: { host: 'localhost:4194', ...headers }, ...more });
  return asResponse(await handler(request));
}

describe('which ports are opened', () => {
  const socket = '/r/kubelet-api.sock';
  test.each([
    ['no port', { port: 0 }, [socket], undefined],
    ['a loopback port', {}, [socket, '127.0.0.1 4194 --dashboard-port'], undefined],
    ['an IPv6 loopback port', { address: '::1' }, [socket, '::1 4194 --dashboard-port'], undefined],
    ['a port that others reach', { address: '10.0.0.1' }, [socket], { address: '10.0.0.1', port: 4194 }],
    ['no server', { enableServer: false }, [], undefined],
  ])('%s', async (_, over, want, secure) => {
    const { opened } = await open(over);
    expect(opened.map(({ at }) => at)).toEqual(want);
    const { address = '127.0.0.1', port = 4194 } = over as { address?: string; port?: number };
    expect(dashboardAt({ dashboardAddress: address, dashboardPort: port, rootDir: '' }, false)).toEqual(
      secure,
    );
  });

  test('the token is read before the loopback port is open', async () => {
    expect((await open()).names).toEqual(['local-socket', 'dashboard-token', 'dashboard']);
  });
});

const reads = [
  '/ui/',
  '/ui/app.js',
  '/pods',
  '/explain',
  '/explain/history',
  '/explain/eviction',
  '/stats/summary',
  '/containerLogs/ns/pod/c',
  '/configz',
  '/configz/history',
  '/healthz',
  '/metrics',
];
const acts = ['/exec/ns/pod/c', '/attach/ns/pod/c', '/portForward/ns/pod', '/run/ns/pod/c'];
const onlySecure = [
  '/logs/',
  '/debug/pprof/heap',
  '/debug/pprof/profile',
  '/debug/flags/v',
  '/flagz',
  '/statusz',
];

describe.each(['loopback', 'socket'] as const)('the rows of the page on the %s port', (which) => {
  test.each(reads)('GET %s needs no credentials', async (path) => {
    const handler = (await handlers())[which];
    expect((await ask(handler, `GET ${path}`)).status).toBe(200);
  });

  test.each(reads)('%s cannot be changed', async (path) => {
    const handler = (await handlers())[which];
    for (const method of ['PUT', 'DELETE', 'PATCH', 'POST']) {
      const want = method === 'POST' && path === '/stats/summary' ? 200 : 405;
      expect((await ask(handler, `${method} ${path}`)).status).toBe(want);
    }
  });

  test.each([...onlySecure, '/checkpoint/ns/pod/c', '/runningpods/', '/metrics/cadvisor'])(
    '%s is not served',
    async (path) => {
      const handler = (await handlers())[which];
      expect((await ask(handler, `GET ${path}`)).status).toBe(404);
    },
  );

  test('/ leads to the page', async () => {
    const handler = (await handlers())[which];
    const { headers, status } = await ask(handler, 'GET /');
    expect([status, headers['location']]).toEqual([302, 'ui/']);
    expect((await ask(handler, 'POST /')).status).toBe(405);
    expect((await ask(handler, 'GET /ui')).headers['location']).toBe('ui/');
  });

  test('logs and streams are off without debugging handlers', async () => {
    const handler = (await handlers({ debugging: false }))[which];
    for (const path of ['/containerLogs/ns/pod/c', ...acts]) {
      const { status } = await ask(handler, `GET ${path}`, { authorization: `Bearer ${token}` });
      expect([path, status]).toEqual([path, 405]);
    }
    const access = await ask(handler, 'GET /ui/api/access', { authorization: `Bearer ${token}` });
    expect(JSON.parse(await bodyText(access))).toEqual({ logs: false, exec: false });
  });
});

describe('acting', () => {
  const inProtocol = (text: string) => ({
    'sec-websocket-protocol': `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`,
  });

  test.each(acts)('%s needs the token on the loopback port, and none on the socket', async (path) => {
    const { loopback, socket } = await handlers();
    const line = `POST ${path}`;
    expect((await ask(loopback, line)).status).toBe(401);
    expect((await ask(loopback, line, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask(loopback, line, { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask(socket, line)).status).toBe(200);
  });

  test('a WebSocket has the token as a protocol', async () => {
    const { loopback } = await handlers();
    const path = 'GET /exec/ns/pod/c';
    const upgrade = { upgrade: true };
    expect((await ask(loopback, path, inProtocol(token), upgrade)).status).toBe(200);
    expect((await ask(loopback, path, inProtocol('wrong'), upgrade)).status).toBe(401);
    // Only an upgrade is a WebSocket.
    expect((await ask(loopback, path, inProtocol(token))).status).toBe(401);
    const malformed = { 'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io.%%' };
    expect((await ask(loopback, path, malformed, upgrade)).status).toBe(401);
  });

  test('lifts the limits of unknown clients only for the holder of the token', async () => {
    const { loopback } = await handlers();
    const admitted: string[] = [];
    const noting = (line: string): Partial<HttpRequest> => ({ admitted: () => void admitted.push(line) });
    for (const line of ['GET /pods', 'POST /exec/ns/pod/c'])
      await ask(loopback, line, { authorization: 'Bearer wrong' }, noting(line));
    await ask(loopback, 'GET /pods', { authorization: `Bearer ${token}` }, noting('read'));
    await ask(loopback, 'POST /exec/ns/pod/c', { authorization: `Bearer ${token}` }, noting('act'));
    expect(admitted).toEqual(['act']);
  });

  test('/ui/api/access reports what the credentials allow', async () => {
    const { loopback, socket } = await handlers();
    const access = async (handler: HttpHandler, headers = {}): Promise<unknown> =>
      JSON.parse(await bodyText(await ask(handler, 'GET /ui/api/access', headers)));
    expect(await access(loopback)).toEqual({ logs: true, exec: false });
    expect(await access(loopback, { authorization: 'Bearer wrong' })).toEqual({ logs: true, exec: false });
    expect(await access(loopback, { authorization: `Bearer ${token}` })).toEqual({ logs: true, exec: true });
    expect(await access(socket)).toEqual({ logs: true, exec: true });
  });
});

describe('browsers on the loopback port', () => {
  test.each([...reads, ...acts, '/', '/nothing'])('%s is not served under another name', async (path) => {
    const { loopback } = await handlers();
    for (const host of ['evil.example:4194', '10.0.0.1:4194', '']) {
      const response = await ask(loopback, `GET ${path}`, { host, authorization: `Bearer ${token}` });
      expect(response.status).toBe(421);
      expect(response.body).toBe('This port is reached as localhost, 127.0.0.1 or [::1] only.\n');
    }
  });

  test.each([...reads, ...acts])('%s is not served to pages of other sites', async (path) => {
    const { loopback } = await handlers();
    const authorization = `Bearer ${token}`;
    const origin = 'http://localhost:8000';
    expect((await ask(loopback, `GET ${path}`, { authorization, origin })).status).toBe(403);
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
    expect((await ask(loopback, `GET ${path}`, { authorization, ...image })).status).toBe(403);
  });

  test('the page itself and links to it are served', async () => {
    const { loopback } = await handlers();
    const own = { origin: 'http://localhost:4194', authorization: `Bearer ${token}` };
    expect((await ask(loopback, 'POST /exec/ns/pod/c', own)).status).toBe(200);
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect((await ask(loopback, 'GET /ui/', link)).status).toBe(200);
  });

  test('no response permits another site to read it', async () => {
    const { loopback } = await handlers();
    for (const path of [...reads, ...acts, '/nothing']) {
      const { headers } = await ask(loopback, `GET ${path}`, { origin: 'http://localhost:4194' });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers).toMatchObject({
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      });
    }
  });
});

test('the kubelet runs if another one serves the socket, and logs it once', async () => {
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, warn: (message) => void lines.push(message) };
  const stop = new AbortController();
  const [socket] = pagePorts({
    config: {
      enableServer: true,
      enableDebuggingHandlers: true,
      enableSystemLogHandler: true,
      enableProfilingHandler: true,
      enableDebugFlagsHandler: true,
    },
    gates: { ContainerCheckpoint: true, ComponentFlagz: true, ComponentStatusz: true },
    flags: { dashboardAddress: '127.0.0.1', dashboardPort: 0, rootDir: '/r' },
    handlers: {},
    token: { name: 't', start: async () => ({ stopped: Promise.resolve() }), matches: () => false },
    metrics: { instrument: (_type, _routes, handler) => handler },
    listen: () => Promise.reject(new Error('no port')),
    listenUnix: () => Promise.reject(new Error('another process serves it')),
    log,
  });
  const started = await socket?.start(stop.signal);
  expect(lines).toEqual([
    'Failed to listen on the local socket; kubelet ps and other commands cannot connect',
  ]);
  stop.abort();
  await started?.stopped;
});
