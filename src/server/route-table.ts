// Every path of the kubelet's API: its handler, its methods, its ports, and the permission that a client needs. The router,
// authorization, the documentation test and the matrix test are built from it. Pure data.
// Upstream: NewServer and the Install* functions of pkg/kubelet/server/server.go, GetRequestAttributes of auth.go.

/**
 * When a path is served: always; with enableDebuggingHandlers; with it and enableSystemLogHandler, enableProfilingHandler or
 * enableDebugFlagsHandler.
 */
export type RouteClass = 'always' | 'debug' | 'system-log' | 'profiling' | 'debug-flags';

export interface RouteRow {
  /** The key of its handler in RouteHandlers. */
  readonly name: string;
  /** `plain`: this path, every method. `service`: a root with patterns below it, methods and a content type. */
  readonly kind: 'plain' | 'service';
  /** Requests for the root of a service without its trailing slash are redirected. */
  readonly path: string;
  /** Below a service's root; an empty pattern is the root. `{name}` matches a segment, `{name:*}` all that follow. */
  readonly patterns?: readonly string[];
  readonly methods?: readonly string[];
  readonly produces?: string;
  readonly class: RouteClass;
  /** Also served on the read-only port. */
  readonly readOnly?: true;
  /** The subresource of nodes that is authorized first, with the gate KubeletFineGrainedAuthz. */
  readonly fineSubresource?: string;
  /** The subresource of nodes that a client needs. */
  readonly subresource: string;
  /** Runs a command or opens a stream in a container: GET needs the verb create, too. */
  readonly acts?: true;
  /** The verb that every method needs, if the method's own verb grants too much. */
  readonly verb?: 'create';
  readonly gate?: 'ContainerCheckpoint' | 'ComponentStatusz' | 'ComponentFlagz';
  /** Paths below answer 405 instead of 404 if debugging handlers are off, and always on the read-only port. */
  readonly disabledBelow?: string;
  /** The body if only the row's own class is off. */
  readonly disabledMessage?: string;
  /** The redirect to the root with its slash is relative, so that it is right behind any proxy. */
  readonly relative?: true;
}

const json = 'application/json';
const inContainer = [
  '/{podNamespace}/{podID}/{containerName}',
  '/{podNamespace}/{podID}/{uid}/{containerName}',
];
const inPod = ['/{podNamespace}/{podID}', '/{podNamespace}/{podID}/{uid}'];
const health = {
  kind: 'plain',
  class: 'always',
  readOnly: true,
  fineSubresource: 'healthz',
  subresource: 'proxy',
} as const;
const metrics = { kind: 'plain', class: 'always', readOnly: true, subresource: 'metrics' } as const;
const acting = { kind: 'service', class: 'debug', subresource: 'proxy', acts: true } as const;

export const routeTable = [
  { name: 'health', path: '/healthz', ...health },
  { name: 'healthCheck', path: '/healthz/{check}', ...health },
  {
    name: 'pods',
    kind: 'service',
    path: '/pods',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'always',
    readOnly: true,
    fineSubresource: 'pods',
    subresource: 'proxy',
  },
  {
    // differs from upstream: there the events and statuses of ended pods are gone after an hour. Not on the read-only port, since
    // records contain log lines. Before /explain, which is a service with its own 404.
    name: 'history',
    kind: 'service',
    path: '/explain/history',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'always',
    subresource: 'proxy',
  },
  {
    // differs from upstream: there the order of eviction is known only after the fact.
    name: 'explainEviction',
    kind: 'service',
    path: '/explain/eviction',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'always',
    readOnly: true,
    fineSubresource: 'pods',
    subresource: 'proxy',
  },
  {
    // differs from upstream: there a user pieces this together from events and logs.
    name: 'explain',
    kind: 'service',
    path: '/explain',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'always',
    readOnly: true,
    fineSubresource: 'pods',
    subresource: 'proxy',
  },
  {
    // differs from upstream: live data of the node's page. Not on the read-only port, since it contains log lines of ended containers.
    name: 'uiStream',
    kind: 'service',
    path: '/ui/api/stream',
    patterns: [''],
    methods: ['GET'],
    produces: 'text/event-stream',
    class: 'always',
    subresource: 'proxy',
  },
  {
    name: 'summary',
    kind: 'service',
    path: '/stats/',
    patterns: ['/summary'],
    methods: ['GET', 'POST'],
    produces: json,
    class: 'always',
    readOnly: true,
    subresource: 'stats',
  },
  { name: 'metrics', path: '/metrics', ...metrics },
  { name: 'cadvisorMetrics', path: '/metrics/cadvisor', ...metrics },
  { name: 'resourceMetrics', path: '/metrics/resource', ...metrics },
  { name: 'probeMetrics', path: '/metrics/probes', ...metrics },
  { name: 'sliMetrics', path: '/metrics/slis', ...metrics },
  {
    name: 'run',
    path: '/run',
    patterns: inContainer,
    methods: ['POST'],
    disabledBelow: '/run/',
    ...acting,
  },
  {
    name: 'exec',
    path: '/exec',
    patterns: inContainer,
    methods: ['GET', 'POST'],
    disabledBelow: '/exec/',
    ...acting,
  },
  {
    name: 'attach',
    path: '/attach',
    patterns: inContainer,
    methods: ['GET', 'POST'],
    disabledBelow: '/attach/',
    ...acting,
  },
  {
    name: 'portForward',
    path: '/portForward',
    patterns: inPod,
    methods: ['GET', 'POST'],
    disabledBelow: '/portForward/',
    ...acting,
  },
  {
    name: 'containerLogs',
    kind: 'service',
    path: '/containerLogs',
    patterns: ['/{podNamespace}/{podID}/{containerName}'],
    methods: ['GET'],
    class: 'debug',
    subresource: 'proxy',
    disabledBelow: '/containerLogs/',
  },
  {
    // differs from upstream: there a client opens a request per container, and cannot resume it.
    name: 'uiLogs',
    kind: 'service',
    path: '/ui/api/logs',
    patterns: ['/{podNamespace}/{podID}'],
    methods: ['GET'],
    class: 'debug',
    subresource: 'proxy',
    disabledBelow: '/ui/api/logs/',
  },
  {
    name: 'configz',
    kind: 'plain',
    path: '/configz',
    class: 'debug',
    fineSubresource: 'configz',
    subresource: 'proxy',
  },
  {
    // differs from upstream: there nothing on the node reports earlier configurations. Without --live-config it is not found.
    name: 'configHistory',
    kind: 'plain',
    path: '/configz/history',
    class: 'debug',
    fineSubresource: 'configz',
    subresource: 'proxy',
  },
  {
    name: 'statusz',
    kind: 'plain',
    path: '/statusz',
    class: 'debug',
    subresource: 'statusz',
    gate: 'ComponentStatusz',
  },
  {
    name: 'flagz',
    kind: 'plain',
    path: '/flagz',
    class: 'debug',
    subresource: 'configz',
    gate: 'ComponentFlagz',
  },
  {
    name: 'runningPods',
    kind: 'service',
    path: '/runningpods/',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'debug',
    fineSubresource: 'pods',
    subresource: 'proxy',
    disabledBelow: '/runningpods/',
  },
  {
    name: 'checkpoint',
    kind: 'service',
    path: '/checkpoint/',
    patterns: ['/{podNamespace}/{podID}/{containerName}'],
    methods: ['POST'],
    produces: json,
    class: 'debug',
    subresource: 'checkpoint',
    gate: 'ContainerCheckpoint',
  },
  {
    name: 'systemLogs',
    kind: 'service',
    path: '/logs/',
    patterns: ['', '/{logpath:*}'],
    methods: ['GET'],
    class: 'system-log',
    subresource: 'log',
    disabledBelow: '/logs/',
    disabledMessage: 'logs endpoint is disabled.',
  },
  {
    // differs from upstream: a snapshot contains the secrets of every pod on the node, which the right to read nodes/proxy
    // must not give away. Go's heap profile contains allocation sites only.
    name: 'heapSnapshot',
    kind: 'service',
    path: '/debug/pprof/heap',
    patterns: [''],
    methods: ['GET'],
    class: 'profiling',
    subresource: 'proxy',
    verb: 'create',
    disabledMessage: 'profiling endpoint is disabled.',
  },
  {
    name: 'profiles',
    kind: 'service',
    path: '/debug/pprof/',
    patterns: ['/{subpath:*}'],
    methods: ['GET'],
    class: 'profiling',
    subresource: 'proxy',
    disabledBelow: '/debug/pprof/',
    disabledMessage: 'profiling endpoint is disabled.',
  },
  {
    name: 'logVerbosity',
    kind: 'plain',
    path: '/debug/flags/v',
    class: 'debug-flags',
    subresource: 'proxy',
    disabledMessage: 'flags endpoint is disabled.',
  },
  {
    // differs from upstream: there a node has no page. Rows below /ui/api/ are before /ui/, which is a service with its own 404.
    name: 'uiAccess',
    kind: 'service',
    path: '/ui/api/access',
    patterns: [''],
    methods: ['GET'],
    produces: json,
    class: 'always',
    subresource: 'proxy',
  },
  {
    name: 'uiFiles',
    kind: 'service',
    path: '/ui/',
    patterns: ['', '/{file}'],
    methods: ['GET'],
    class: 'always',
    subresource: 'proxy',
    relative: true,
  },
] as const satisfies readonly RouteRow[];

export type RouteName = (typeof routeTable)[number]['name'];
