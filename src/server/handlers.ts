// What each of the kubelet's ports answers. Pure: no socket, no clock.
// Upstream: pkg/kubelet/server/server.go (NewServer, InstallAuthNotRequiredHandlers) and cmd/kubelet/app/server.go.
import { type HealthCheck, healthRoutes } from './health.ts';
import { errorResponse, type HttpHandler, jsonResponse, textResponse } from './http-message.ts';
import { type ListedPods, type ListedStatuses, PodList, RunningPods, type SeenPods } from './pod-list.ts';
import { type Route, route } from './router.ts';

const json = 'application/json';
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** The health port, 10248: nothing but health. */
export function healthHandler(checks: readonly HealthCheck[]): HttpHandler {
  // differs from upstream: there this port only pings, and what is wrong can be asked on 10250 alone.
  return route(healthRoutes(checks));
}

export interface ReadOnlyDeps {
  readonly desired: ListedPods;
  readonly statuses: ListedStatuses;
  readonly observed: SeenPods;
  readonly checks: readonly HealthCheck[];
  /** The metrics in Prometheus' text format. */
  readonly metrics: () => string;
  /** The probes' own metrics, which upstream shows apart since they have a series per container. */
  readonly probeMetrics: () => string;
  /** Where each pod is, what it waits for and what was told of it. */
  readonly explain: () => unknown;
  /** The effective configuration, without what is secret in it. */
  readonly configz: () => unknown;
  /** The flags as they were given; undefined where its feature gate is off. */
  readonly flagz: (() => string) | undefined;
}

/** The read-only port, 10255: no authentication, so nothing that acts and nothing that tells secrets. */
export function readOnlyHandler(deps: ReadOnlyDeps): HttpHandler {
  const podList = new PodList(deps.desired, deps.statuses);
  const runningPods = new RunningPods(deps.observed);
  return route([
    ...healthRoutes(deps.checks),
    {
      kind: 'service',
      path: '/pods',
      methods: ['GET'],
      produces: json,
      handle: () => jsonResponse(podList.body()),
    },
    {
      // differs from upstream: there only the authenticated port has it; a node without that port needs it here.
      kind: 'service',
      path: '/runningpods',
      methods: ['GET'],
      produces: json,
      handle: () => jsonResponse(runningPods.body()),
    },
    {
      // differs from upstream: there a person pieces this together from events and logs.
      kind: 'service',
      path: '/explain',
      methods: ['GET'],
      produces: json,
      handle: () => ({
        status: 200,
        headers: { 'content-type': json },
        body: `${JSON.stringify(deps.explain())}\n`,
      }),
    },
    metricsRoute('/metrics', deps.metrics),
    metricsRoute('/metrics/probes', deps.probeMetrics),
    {
      // differs from upstream: there only the authenticated port has it; a node without that port needs it here,
      // and header values are masked.
      kind: 'plain',
      path: '/configz',
      handle: () => ({
        status: 200,
        headers: { 'content-type': json },
        body: `${JSON.stringify(deps.configz())}\n`,
      }),
    },
    ...flagzRoutes(deps.flagz),
    ...disabledPaths.map(
      (path): Route => ({
        kind: 'tree',
        path,
        handle: () => errorResponse(405, 'Debug endpoints are disabled.'),
      }),
    ),
  ]);
}

function metricsRoute(path: string, render: () => string): Route {
  return {
    kind: 'plain',
    path,
    handle: () => ({ status: 200, headers: { 'content-type': metricsType }, body: render() }),
  };
}

function flagzRoutes(flagz: ReadOnlyDeps['flagz']): readonly Route[] {
  return flagz === undefined ? [] : [{ kind: 'plain', path: '/flagz', handle: () => textResponse(flagz()) }];
}

/** What acts on containers or reads the node's files says that it is not to be had here. */
const disabledPaths = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/debug/pprof/',
  '/logs/',
];
