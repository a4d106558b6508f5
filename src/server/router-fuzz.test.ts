// Random and mutated targets, methods and credentials against the route table, the router and admission. The row of a path and
// the permission that it needs are repeated here, not derived from the route table.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { ClientCertificate } from '../api/ports/http.ts';
import { silentLogger } from '../base/log/log.ts';
import { Metrics } from '../base/metrics.ts';
import { AuthMetrics } from './auth/auth-metrics.ts';
import { buildAdmission } from './auth/build-admission.ts';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import type { HttpHandler, HttpRequest } from './http-message.ts';
import { HttpMetrics } from './http-metrics.ts';
import { plainPorts } from './plain-ports.ts';
import { type RouteName, routeTable } from './route-table.ts';
import { type Admit, type Route, route } from './router.ts';
import { type RouteHandlers, routesOf } from './routes.ts';

const seed = 20_260_101;

interface Row {
  readonly paths: RegExp;
  /** With the gate KubeletFineGrainedAuthz, then without. */
  readonly subresources: readonly [readonly string[], string];
  readonly methods?: readonly string[];
  /** The verb that a GET needs, if it is not `get`. */
  readonly getVerb?: 'create' | 'create unless allowGetStreams';
  readonly debug?: true;
  readonly readOnly?: true;
}

const proxy = [['proxy'], 'proxy'] as const;
const metrics = [['metrics'], 'metrics'] as const;
const inContainer = '[^/]+/[^/]+/[^/]+(/[^/]+)?/?';
const acts = { subresources: proxy, getVerb: 'create unless allowGetStreams', debug: true } as const;
const expected: Readonly<Record<RouteName, Row>> = {
  health: { paths: /^\/healthz$/, subresources: [['healthz', 'proxy'], 'proxy'], readOnly: true },
  healthCheck: {
    paths: /^\/healthz\/[^/]+$/,
    subresources: [['healthz', 'proxy'], 'proxy'],
    readOnly: true,
  },
  pods: {
    paths: /^\/pods\/?$/,
    subresources: [['pods', 'proxy'], 'proxy'],
    methods: ['GET'],
    readOnly: true,
  },
  explainEviction: {
    paths: /^\/explain\/eviction\/?$/,
    subresources: [['pods', 'proxy'], 'proxy'],
    methods: ['GET'],
    readOnly: true,
  },
  explain: {
    paths: /^\/explain\/?$/,
    subresources: [['pods', 'proxy'], 'proxy'],
    methods: ['GET'],
    readOnly: true,
  },
  uiStream: { paths: /^\/ui\/api\/stream\/?$/, subresources: proxy, methods: ['GET'] },
  history: { paths: /^\/explain\/history\/?$/, subresources: proxy, methods: ['GET'] },
  summary: {
    paths: /^\/stats\/summary\/?$/,
    subresources: [['stats'], 'stats'],
    methods: ['GET', 'POST'],
    readOnly: true,
  },
  metrics: { paths: /^\/metrics$/, subresources: metrics, readOnly: true },
  cadvisorMetrics: { paths: /^\/metrics\/cadvisor$/, subresources: metrics, readOnly: true },
  resourceMetrics: { paths: /^\/metrics\/resource$/, subresources: metrics, readOnly: true },
  probeMetrics: { paths: /^\/metrics\/probes$/, subresources: metrics, readOnly: true },
  sliMetrics: { paths: /^\/metrics\/slis$/, subresources: metrics, readOnly: true },
  run: { paths: new RegExp(`^/run/${inContainer}$`), methods: ['POST'], ...acts },
  exec: { paths: new RegExp(`^/exec/${inContainer}$`), methods: ['GET', 'POST'], ...acts },
  attach: { paths: new RegExp(`^/attach/${inContainer}$`), methods: ['GET', 'POST'], ...acts },
  portForward: {
    paths: /^\/portForward\/[^/]+\/[^/]+(\/[^/]+)?\/?$/,
    methods: ['GET', 'POST'],
    ...acts,
  },
  containerLogs: {
    paths: /^\/containerLogs\/[^/]+\/[^/]+\/[^/]+\/?$/,
    subresources: proxy,
    methods: ['GET'],
    debug: true,
  },
  uiLogs: {
    paths: /^\/ui\/api\/logs\/[^/]+\/[^/]+\/?$/,
    subresources: proxy,
    methods: ['GET'],
    debug: true,
  },
  configz: { paths: /^\/configz$/, subresources: [['configz', 'proxy'], 'proxy'], debug: true },
  configHistory: {
    paths: /^\/configz\/history$/,
    subresources: [['configz', 'proxy'], 'proxy'],
    debug: true,
  },
  statusz: { paths: /^\/statusz$/, subresources: [['statusz'], 'statusz'], debug: true },
  flagz: { paths: /^\/flagz$/, subresources: [['configz'], 'configz'], debug: true },
  runningPods: {
    paths: /^\/runningpods\/$/,
    subresources: [['pods', 'proxy'], 'proxy'],
    methods: ['GET'],
    debug: true,
  },
  checkpoint: {
    paths: /^\/checkpoint\/[^/]+\/[^/]+\/[^/]+\/?$/,
    subresources: [['checkpoint'], 'checkpoint'],
    methods: ['POST'],
    debug: true,
  },
  systemLogs: { paths: /^\/logs\//, subresources: [['log'], 'log'], methods: ['GET'], debug: true },
  heapSnapshot: {
    paths: /^\/debug\/pprof\/heap\/?$/,
    subresources: proxy,
    methods: ['GET'],
    getVerb: 'create',
    debug: true,
  },
  profiles: {
    paths: /^\/debug\/pprof\/(?!heap(\/|$))/,
    subresources: proxy,
    methods: ['GET'],
    debug: true,
  },
  logVerbosity: { paths: /^\/debug\/flags\/v$/, subresources: proxy, debug: true },
  uiAccess: { paths: /^\/ui\/api\/access\/?$/, subresources: proxy, methods: ['GET'] },
  uiFiles: { paths: /^\/ui\/([^/]+\/?)?$/, subresources: proxy, methods: ['GET'] },
};

const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

const paths = [
  '/healthz',
  '/healthz/ping',
  '/pods',
  '/explain',
  '/explain/history',
  '/ui/api/stream',
  '/explain/eviction',
  '/stats/summary',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/slis',
  '/run/ns/pod/c',
  '/exec/ns/pod/c',
  '/exec/ns/pod/uid/c',
  '/attach/ns/pod/c',
  '/portForward/ns/pod',
  '/containerLogs/ns/pod/c',
  '/ui/api/logs/ns/pod',
  '/configz',
  '/configz/history',
  '/statusz',
  '/flagz',
  '/runningpods/',
  '/checkpoint/ns/pod/c',
  '/logs/',
  '/logs/syslog',
  '/debug/pprof/heap',
  '/debug/pprof/profile',
  '/debug/flags/v',
];
const escapes = '%00 %2e%2e %2E %2f %2F %5c %25 %252e % %zz %c0%af %ff %ed%a0%80'.split(' ');
const marks = '/ // /./ /../ /.. ..;/ ; ;x=1 . ?a=1 # \\ * : @ __proto__ constructor'.split(' ');
const letters = [...Array.from(' \t\0\u0130\u017f\u212a\u00e9\ufeff\u2028'), '\r\n'];
const long = ['x'.repeat(9_000), '/a'.repeat(3_000), '/..'.repeat(3_000), '%2e%2e%2f'.repeat(500)];
const fragments = [...escapes, ...marks, ...letters, ...long, ...paths];
const fragment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...fragments) },
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** One mutation of a target, at a position between its beginning (0) and its end (1). */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  how: fc.constantFrom('insert', 'append', 'escape', 'upper', 'lower', 'cut', 'drop', 'double-slash'),
  what: fragment,
});

function changed(target: string, { at, how, what }: typeof change extends fc.Arbitrary<infer T> ? T : never) {
  const index = Math.floor(at * target.length);
  const before = target.slice(0, index);
  const here = target.slice(index, index + 1);
  const after = target.slice(index + 1);
  switch (how) {
    case 'insert':
      return before + what + here + after;
    case 'escape':
      return `${before}%${(here.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')}${after}`;
    case 'upper':
      return before + here.toUpperCase() + after;
    case 'lower':
      return target.toLowerCase();
    case 'cut':
      return before;
    case 'drop':
      return before + after;
    case 'double-slash':
      return target.replace('/', '//');
    case 'append':
    default:
      return target + what;
  }
}

const target = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...paths), fc.array(change, { maxLength: 3 }))
      .map(([path, changes]) => changes.reduce(changed, path)),
  },
  fc.array(fragment, { maxLength: 6 }).map((parts) => parts.join('')),
  fc.array(fragment, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`),
  fc.constantFrom(...paths).map((path) => `http://other:10250${path}`),
);

const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'POST') },
  { weight: 3, arbitrary: fc.constantFrom('PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT') },
  // HTTP/2 accepts any method.
  {
    weight: 3,
    arbitrary: fc.constantFrom('', 'get', 'Get', 'GET ', '*', 'constructor', '__proto__', 'toString'),
  },
  fc.string({ maxLength: 12 }),
);

const certificate: ClientCertificate = {
  commonName: 'by-certificate',
  organizations: [],
  uid: '',
  notBeforeMs: -1,
  notAfterMs: 1,
  sha256: '00',
  problem: undefined,
};
const protocol = (token: string): HttpRequest['headers'] => ({
  'sec-websocket-protocol': `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`,
});
/** The user of each credential; undefined if it is invalid. */
const credentials: readonly (readonly [string | undefined, Partial<HttpRequest>])[] = [
  [undefined, {}],
  [undefined, { headers: { authorization: 'Bearer wrong' } }],
  [undefined, { headers: { authorization: 'Basic valid' } }],
  [undefined, { headers: { authorization: 'Bearer' } }],
  [undefined, { headers: { authorization: 'Bearer  valid' } }],
  [undefined, { headers: protocol('valid') }],
  [undefined, { headers: protocol('wrong'), upgrade: true }],
  [undefined, { certificate: { ...certificate, problem: 'CERT_SIGNATURE_FAILURE' } }],
  [
    undefined,
    { certificate: { ...certificate, notAfterMs: 0, notBeforeMs: -2, problem: 'CERT_HAS_EXPIRED' } },
  ],
  [undefined, { certificate: { ...certificate, notBeforeMs: 1 } }],
  [undefined, { certificate: { ...certificate, commonName: '' } }],
  ['by-token', { headers: { authorization: 'Bearer valid' } }],
  ['by-token', { headers: { authorization: 'bearer valid' } }],
  ['by-token', { headers: protocol('valid'), upgrade: true }],
  ['by-certificate', { certificate }],
];
const credential = fc.oneof(
  fc.constantFrom(...credentials),
  fc.constantFrom(...credentials.filter(([name]) => name !== undefined)),
);

/** The path as the listeners decode it; undefined if they answer 400. */
function decoded(raw: string): HttpRequest['path'] | undefined {
  const [rawPath = ''] = raw.split('?');
  try {
    return decodeURIComponent(rawPath.startsWith('/') ? rawPath : new URL(rawPath).pathname);
  } catch {
    return undefined;
  }
}

interface Called {
  readonly name: RouteName;
  readonly request: HttpRequest;
}

function recordingHandlers(calls: Called[]): RouteHandlers {
  return Object.fromEntries(
    routeTable.map(({ name }) => [
      name,
      (request: HttpRequest) => {
        calls.push({ name, request });
        return { status: 200, headers: {}, body: 'secret' };
      },
    ]),
  );
}

interface Reviewed {
  readonly user: string;
  readonly verb: unknown;
  readonly subresource: string;
  readonly allowed: boolean;
}

const subresources = [
  'healthz',
  'pods',
  'proxy',
  'stats',
  'metrics',
  'configz',
  'statusz',
  'checkpoint',
  'log',
];
const allVerbs: ReadonlySet<unknown> = new Set([...verbs.values(), '']);
const pairs = [...verbs.values(), ''].flatMap((verb) => subresources.map((each) => `${verb} ${each}`));
const policy = fc.oneof(fc.subarray(pairs), fc.subarray(pairs, { maxLength: 3 }), fc.constant(pairs));

/** An API server with one valid token. It allows the verb and subresource pairs of the current run to all users. */
class ApiServer {
  #allowed: ReadonlySet<string> = new Set();
  reviews: Reviewed[] = [];

  begin(allowed: readonly string[]): void {
    this.#allowed = new Set(allowed);
    this.reviews = [];
  }

  async create<T>(path: string, body: unknown): Promise<T> {
    return this.#answer(path, body) as T;
  }

  #answer(path: string, body: unknown): unknown {
    const { spec } = body as {
      spec: { token?: string; user: string; resourceAttributes: { verb: unknown; subresource: string } };
    };
    if (path.endsWith('/tokenreviews'))
      return {
        status: spec.token === 'valid' ? { authenticated: true, user: { username: 'by-token' } } : {},
      };
    const { subresource, verb } = spec.resourceAttributes;
    const allowed = this.#allowed.has(`${String(verb)} ${subresource}`);
    this.reviews.push({ user: spec.user, verb, subresource, allowed });
    return { status: { allowed } };
  }
}

interface Settings {
  readonly debugging: boolean;
  readonly fineGrained: boolean;
  readonly allowGetStreams: boolean;
  readonly anonymous: boolean;
}

/** Without caches: every review goes to the API server. */
function admissionBy(api: ApiServer, given: Settings): Admit {
  const ttl = { ms: 0 };
  return buildAdmission({
    config: {
      authentication: {
        x509: { clientCAFile: '/ca.crt' },
        webhook: { enabled: true, cacheTTL: ttl },
        anonymous: { enabled: given.anonymous },
      },
      authorization: {
        mode: 'Webhook',
        webhook: { cacheAuthorizedTTL: ttl, cacheUnauthorizedTTL: ttl },
      },
    },
    api,
    nodeName: 'n',
    settings: { ...given, certificateUids: true },
    hashKey: new Uint8Array(32),
    random: () => 0,
    metrics: new AuthMetrics(new Metrics(), new FakeClock(0)),
    clock: new FakeClock(0),
    log: silentLogger,
  });
}

/** The secure port of each combination of settings; building one takes milliseconds, for its caches. */
function securePorts(api: ApiServer, calls: Called[]): (given: Settings) => HttpHandler {
  const built = new Map<string, HttpHandler>();
  return (given) => {
    const key = JSON.stringify(given);
    const port = built.get(key) ?? route(secureRoutes(given, calls), admissionBy(api, given));
    built.set(key, port);
    return port;
  };
}

function secureRoutes({ debugging }: Settings, calls: Called[]): readonly Route[] {
  return routesOf(
    {
      port: 'secure',
      enableDebuggingHandlers: debugging,
      enableSystemLogHandler: true,
      enableProfilingHandler: true,
      enableDebugFlagsHandler: true,
      gates: { ContainerCheckpoint: true, ComponentFlagz: true, ComponentStatusz: true },
    },
    recordingHandlers(calls),
  );
}

const settings = fc.record({
  debugging: fc.boolean(),
  fineGrained: fc.boolean(),
  allowGetStreams: fc.boolean(),
  anonymous: fc.boolean(),
});

function checkRedirect(location: unknown): void {
  // Another host to browsers and to Go's client.
  expect(location).toMatch(/^\/(?![/\\])/);
}

test('runs no handler without the permission of its row, whatever the target, method and credential', async () => {
  const reached = new Set<string>();
  const calls: Called[] = [];
  const api = new ApiServer();
  const portOf = securePorts(api, calls);
  const run = fc.asyncProperty(
    target,
    method,
    credential,
    policy,
    settings,
    async (raw, verbLike, [name, proof], allowed, given) => {
      const path = decoded(raw);
      if (path === undefined) return;
      calls.length = 0;
      api.begin(allowed);
      const request = { ...httpRequest(''), method: verbLike, path, ...proof };
      const { headers, status } = asResponse(await portOf(given)(request));
      const { reviews } = api;
      const isAnonymous = name === undefined && given.anonymous && isWithoutProof(proof);
      const user = isAnonymous ? 'system:anonymous' : name;
      expect(reviews.filter((each) => each.user !== user)).toEqual([]);
      expect(reviews.filter(({ verb }) => !allVerbs.has(verb))).toEqual([]);
      if (user === undefined) {
        expect(calls).toEqual([]);
        expect([301, 401, 404]).toContain(status);
      }
      if (status === 301) checkRedirect(headers['location']);
      const [called] = calls;
      if (called === undefined) return;
      expect(calls).toHaveLength(1);
      reached.add(called.name);
      const row = expected[called.name];
      expect(path).toMatch(row.paths);
      expect(path).not.toMatch(/\/\/|\/\.{1,2}(\/|$)/);
      if (row.methods !== undefined) expect(row.methods).toContain(verbLike);
      expect(row.debug === true && !given.debugging).toBe(false);
      const [fine, coarse] = row.subresources;
      const may = given.fineGrained ? fine : [coarse];
      expect(reviews.at(-1)).toMatchObject({ user, verb: verbOf(row, verbLike, given), allowed: true });
      expect(reviews.map(({ subresource }) => subresource)).toEqual(may.slice(0, reviews.length));
    },
  );
  await fc.assert(run, { seed, numRuns: 1_500 });
  // The inputs are realistic enough to reach most handlers.
  expect(reached.size).toBeGreaterThan(14);
});

function isWithoutProof({ certificate: given, headers, upgrade }: Partial<HttpRequest>): boolean {
  if (given !== undefined) return given.commonName === '';
  const authorization = String(headers?.['authorization'] ?? '');
  return !/^bearer \S/i.test(authorization) && upgrade !== true;
}

function verbOf({ getVerb }: Row, given: string, { allowGetStreams }: { allowGetStreams: boolean }): string {
  if (given === 'GET' && getVerb === 'create') return 'create';
  if (given === 'GET' && getVerb !== undefined) return allowGetStreams ? 'get' : 'create';
  return verbs.get(given) ?? '';
}

async function plainHandlers(handlers: RouteHandlers, registry: Metrics): Promise<readonly HttpHandler[]> {
  const stop = new AbortController();
  const opened: HttpHandler[] = [];
  const servers = plainPorts({
    config: { healthzBindAddress: '', healthzPort: 10248, address: '', readOnlyPort: 10255 },
    checks: [],
    handlers,
    metrics: new HttpMetrics(registry, { monotonic: () => 0 }),
    listen: async ({ handler, host, port }) => {
      opened.push(handler);
      return { host, port, close: async () => undefined };
    },
    log: silentLogger,
  });
  for (const server of servers) await server.start(stop.signal);
  stop.abort();
  return opened;
}

test('serves only read-only rows and methods on the ports without authentication', async () => {
  const registry = new Metrics();
  const calls: Called[] = [];
  const [health, readOnly] = await plainHandlers(recordingHandlers(calls), registry);
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(target, method, credential, async (raw, verbLike, [, proof]) => {
      const path = decoded(raw);
      if (path === undefined) return;
      calls.length = 0;
      const request = { ...httpRequest(''), method: verbLike, path, ...proof };
      const onHealth = asResponse((await health?.(request)) ?? { proxyTo: 'nowhere' });
      expect(calls).toEqual([]);
      if (onHealth.status === 200) expect(path).toMatch(/^\/healthz(\/|$)/);
      const { headers, status } = asResponse((await readOnly?.(request)) ?? { proxyTo: 'nowhere' });
      if (status === 301) checkRedirect(headers['location']);
      expect(calls.length).toBe(status === 200 ? 1 : 0);
      for (const { name } of calls) {
        reached.add(name);
        expect(path).toMatch(expected[name].paths);
        expect(expected[name].readOnly).toBe(true);
        expect(name === 'summary' ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']).toContain(verbLike);
      }
    }),
    { seed, numRuns: 2_000 },
  );
  expect(reached.size).toBeGreaterThan(6);
  // Clients create no series: paths of the table × HTTP methods.
  const series = registry.render().match(/^kubelet_http_requests_total\{/gm) ?? [];
  expect(series.length).toBeLessThan(20 * 9);
});
