// Every row of the route table × client × debugging handlers × method × port: the status code. The expected codes come from the
// table below, which was written after upstream's registrations and is not derived from the route table.
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../base/log/log.ts';
import type { Access } from './auth/access-reviews.ts';
import { admission } from './auth/admit.ts';
import type { UserInfo } from './auth/user.ts';
import { asResponse, bodyText, httpRequest } from './fixtures/requests.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { type RouteName, routeTable } from './route-table.ts';
import { route } from './router.ts';
import { listedPaths, type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';

const secret = 'restricted content';
const answer: HttpResponse = { status: 200, headers: {}, body: secret };
const handlers: RouteHandlers = Object.fromEntries(routeTable.map(({ name }) => [name, () => answer]));

const user = (name: string, ...groups: readonly string[]): UserInfo => ({ name, uid: '', groups, extra: {} });
/** By token. The reader may `get` nodes/metrics, nodes/pods and nodes/proxy: a monitoring agent. */
const users: Readonly<Record<string, UserInfo>> = {
  node: user('system:node:n1', 'system:nodes'),
  admin: user('admin', 'system:masters'),
  reader: user('reader'),
};

async function isAllowed({ subresource, user: client, verb }: Access): Promise<boolean> {
  if (client.groups.includes('system:masters')) return true;
  return client.name === 'reader' && verb === 'get' && ['metrics', 'pods', 'proxy'].includes(subresource);
}

const admit = admission({
  authentication: {
    certificates: false,
    certificateUids: false,
    tokens: { userOf: async (token) => users[token] },
    anonymous: true,
    clock: { now: () => 0 },
  },
  access: { isAllowed },
  settings: { fineGrained: true, allowGetStreams: false },
  log: silentLogger,
});

function settings(port: RouteSettings['port'], enableDebuggingHandlers: boolean): RouteSettings {
  return {
    port,
    enableDebuggingHandlers,
    enableSystemLogHandler: true,
    enableProfilingHandler: true,
    enableDebugFlagsHandler: true,
    gates: { ContainerCheckpoint: true, ComponentFlagz: true, ComponentStatusz: true },
  };
}

interface Row {
  readonly path: string;
  /** The methods of a service; any method for a plain path. */
  readonly methods: 'any' | readonly string[];
  readonly debugOff: 'served' | 405 | 404;
  /** Whether the reader may GET it. */
  readonly readerGets: boolean;
}

const any = 'any';
const get = ['GET'];
const both = ['GET', 'POST'];
const post = ['POST'];
const expected: Readonly<Record<RouteName, Row>> = {
  health: { path: '/healthz', methods: any, debugOff: 'served', readerGets: true },
  healthCheck: { path: '/healthz/ping', methods: any, debugOff: 'served', readerGets: true },
  pods: { path: '/pods', methods: get, debugOff: 'served', readerGets: true },
  explainEviction: { path: '/explain/eviction', methods: get, debugOff: 'served', readerGets: true },
  explain: { path: '/explain', methods: get, debugOff: 'served', readerGets: true },
  history: { path: '/explain/history', methods: get, debugOff: 'served', readerGets: true },
  uiStream: { path: '/ui/api/stream', methods: get, debugOff: 'served', readerGets: true },
  summary: { path: '/stats/summary', methods: both, debugOff: 'served', readerGets: false },
  metrics: { path: '/metrics', methods: any, debugOff: 'served', readerGets: true },
  cadvisorMetrics: { path: '/metrics/cadvisor', methods: any, debugOff: 'served', readerGets: true },
  resourceMetrics: { path: '/metrics/resource', methods: any, debugOff: 'served', readerGets: true },
  probeMetrics: { path: '/metrics/probes', methods: any, debugOff: 'served', readerGets: true },
  sliMetrics: { path: '/metrics/slis', methods: any, debugOff: 'served', readerGets: true },
  run: { path: '/run/ns/pod/c', methods: post, debugOff: 405, readerGets: false },
  exec: { path: '/exec/ns/pod/uid/c', methods: both, debugOff: 405, readerGets: false },
  attach: { path: '/attach/ns/pod/c', methods: both, debugOff: 405, readerGets: false },
  portForward: { path: '/portForward/ns/pod', methods: both, debugOff: 405, readerGets: false },
  containerLogs: { path: '/containerLogs/ns/pod/c', methods: get, debugOff: 405, readerGets: true },
  uiLogs: { path: '/ui/api/logs/ns/pod', methods: get, debugOff: 405, readerGets: true },
  configz: { path: '/configz', methods: any, debugOff: 404, readerGets: true },
  configHistory: { path: '/configz/history', methods: any, debugOff: 404, readerGets: true },
  statusz: { path: '/statusz', methods: any, debugOff: 404, readerGets: false },
  flagz: { path: '/flagz', methods: any, debugOff: 404, readerGets: false },
  runningPods: { path: '/runningpods/', methods: get, debugOff: 405, readerGets: true },
  checkpoint: { path: '/checkpoint/ns/pod/c', methods: post, debugOff: 404, readerGets: false },
  systemLogs: { path: '/logs/syslog', methods: get, debugOff: 405, readerGets: false },
  heapSnapshot: { path: '/debug/pprof/heap', methods: get, debugOff: 405, readerGets: false },
  profiles: { path: '/debug/pprof/profile', methods: get, debugOff: 405, readerGets: true },
  logVerbosity: { path: '/debug/flags/v', methods: any, debugOff: 404, readerGets: true },
  uiAccess: { path: '/ui/api/access', methods: get, debugOff: 'served', readerGets: true },
  uiFiles: { path: '/ui/app.js', methods: get, debugOff: 'served', readerGets: true },
};

type Client = 'anonymous' | 'wrong token' | 'node' | 'reader' | 'admin';
const clients: readonly Client[] = ['anonymous', 'wrong token', 'node', 'reader', 'admin'];
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD'];

/** The status of upstream's kubelet. */
function codeOf(row: Row, client: Client, debugging: boolean, method: string): number {
  if (!debugging && row.debugOff === 404) return 404;
  if (client === 'wrong token') return 401;
  // A disabled path needs the same permission, but does not act.
  const off = !debugging && row.debugOff === 405;
  const acting = /^\/(run|exec|attach|portForward|debug\/pprof\/heap)(\/|$)/.test(row.path);
  const readerMay = method === 'GET' && (row.readerGets || (off && acting));
  if (client !== 'admin' && !(client === 'reader' && readerMay)) return 403;
  if (off) return 405;
  return row.methods === 'any' || row.methods.includes(method) ? 200 : 405;
}

function request(method: string, path: string, client: Client): HttpRequest {
  const token = client === 'wrong token' ? 'unknown' : client;
  return httpRequest(`${method} ${path}`, {
    headers: client === 'anonymous' ? {} : { authorization: `Bearer ${token}` },
  });
}

describe.each([true, false])('10250, debugging handlers %s', (debugging) => {
  const handle = route(routesOf(settings('secure', debugging), handlers), admit);
  for (const { name } of routeTable) {
    const row = expected[name];
    test(`${name}: answers all ${clients.length * methods.length} combinations as upstream`, async () => {
      const wrong: string[] = [];
      for (const client of clients) {
        for (const method of methods) {
          const got = await handle(request(method, row.path, client));
          const { status } = asResponse(got);
          const want = codeOf(row, client, debugging, method);
          if (status !== want) wrong.push(`${method} by ${client}: ${status}, not ${want}`);
          if (status !== 200 && (await bodyText(got)).includes(secret))
            wrong.push(`${method} by ${client}: content revealed`);
        }
      }
      expect(wrong).toEqual([]);
    });
  }
});

describe('the paths on /statusz', () => {
  const on = settings('secure', true);
  test("are upstream's: plain paths, without the page itself", () => {
    expect(listedPaths(on, handlers)).toEqual(['/configz', '/debug', '/flagz', '/healthz', '/metrics']);
  });
  test('include disabled handlers and exclude disabled gates', () => {
    const some = { ...on, enableSystemLogHandler: false, gates: { ...on.gates, ComponentFlagz: false } };
    expect(listedPaths(some, handlers)).toEqual(['/configz', '/debug', '/healthz', '/logs', '/metrics']);
  });
});

describe('10250, one class of handlers disabled', () => {
  const cases = [
    ['enableSystemLogHandler', '/logs/syslog', 'logs endpoint is disabled.\n'],
    ['enableSystemLogHandler', '/logs/', 'logs endpoint is disabled.\n'],
    ['enableProfilingHandler', '/debug/pprof/', 'profiling endpoint is disabled.\n'],
    ['enableDebugFlagsHandler', '/debug/flags/v', 'flags endpoint is disabled.\n'],
  ] as const;
  test.each(cases)('%s: %s', async (setting, path, body) => {
    const handle = route(routesOf({ ...settings('secure', true), [setting]: false }, handlers), admit);
    expect(asResponse(await handle(request('GET', path, 'admin')))).toMatchObject({ status: 405, body });
    expect(asResponse(await handle(request('GET', path, 'anonymous'))).status).toBe(403);
  });

  test('a disabled gate removes the path', async () => {
    const gates = { ContainerCheckpoint: false, ComponentFlagz: false, ComponentStatusz: false };
    const handle = route(routesOf({ ...settings('secure', true), gates }, handlers), admit);
    for (const path of ['/checkpoint/ns/pod/c', '/flagz', '/statusz'])
      expect(asResponse(await handle(request('POST', path, 'admin'))).status).toBe(404);
  });

  test('GET needs create to act, unless --allow-get-streams is set', async () => {
    const asUpstream = admission({
      authentication: {
        certificates: false,
        certificateUids: false,
        tokens: { userOf: async (token) => users[token] },
        anonymous: false,
        clock: { now: () => 0 },
      },
      access: { isAllowed },
      settings: { fineGrained: true, allowGetStreams: true },
      log: silentLogger,
    });
    const routes = routesOf(settings('secure', true), handlers);
    const exec = { ...request('GET', '/exec/ns/pod/c', 'reader'), upgrade: true };
    expect(asResponse(await route(routes, admit)(exec))).toMatchObject({
      status: 403,
      body: 'Forbidden (user=reader, verb=create, resource=nodes, subresource(s)=[proxy])\n',
    });
    expect(asResponse(await route(routes, asUpstream)(exec)).status).toBe(200);
    const heap = request('GET', '/debug/pprof/heap', 'reader');
    expect(asResponse(await route(routes, asUpstream)(heap)).status).toBe(403);
  });
});

describe("10255: serves upstream's paths to every client", () => {
  const handle = route(routesOf(settings('read-only', true), handlers));
  const served: ReadonlySet<RouteName> = new Set<RouteName>([
    'health',
    'healthCheck',
    'pods',
    'explain',
    'explainEviction',
    'summary',
    'metrics',
    'cadvisorMetrics',
    'resourceMetrics',
    'probeMetrics',
    'sliMetrics',
  ]);
  test.each(routeTable.map(({ name }) => name))('%s', async (name) => {
    const row = expected[name];
    const { status } = asResponse(await handle(request('GET', row.path, 'anonymous')));
    const notServed = row.debugOff === 'served' ? 404 : row.debugOff;
    expect(status).toBe(served.has(name) ? 200 : notServed);
  });
});
