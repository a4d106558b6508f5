// Who answers the paths that tell what the kubelet knows. Pure: no socket, no clock. What reaches into containers, files and
// statistics is plugged in beside these: RouteHandlers has a name for every row of the route table.
// Upstream: pkg/kubelet/server/server.go (NewServer, InstallAuthNotRequiredHandlers) and cmd/kubelet/app/server.go.
import { type HealthCheck, type HealthObserver, healthHandlers } from './health.ts';
import { type HttpHandler, jsonResponse, type RouteHandler } from './http-message.ts';
import { textPage } from './node/zpages.ts';
import { type ListedPods, type ListedStatuses, PodList, RunningPods, type SeenPods } from './pod-list.ts';
import { type Route, route } from './router.ts';
import { type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';

const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** The health port, 10248: nothing but health. */
export function healthHandler(checks: readonly HealthCheck[]): HttpHandler {
  // differs from upstream: there this port only pings, and what is wrong can be asked on 10250 alone.
  return route(routesOf(readOnlySettings, healthHandlers(checks)));
}

export interface KnowledgeDeps {
  readonly desired: ListedPods;
  readonly statuses: ListedStatuses;
  readonly observed: SeenPods;
  readonly checks: readonly HealthCheck[];
  /** Hears what they found, and tells it. */
  readonly slis: HealthObserver & { readonly handle: RouteHandler };
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

export function knowledgeHandlers(deps: KnowledgeDeps): RouteHandlers {
  const podList = new PodList(deps.desired, deps.statuses);
  const runningPods = new RunningPods(deps.observed);
  const { flagz, slis } = deps;
  return {
    ...healthHandlers(deps.checks, slis),
    sliMetrics: slis.handle,
    pods: () => jsonResponse(podList.body()),
    runningPods: () => jsonResponse(runningPods.body()),
    explain: () => jsonResponse(`${JSON.stringify(deps.explain())}\n`),
    metrics: metricsHandler(deps.metrics),
    probeMetrics: metricsHandler(deps.probeMetrics),
    configz: () => jsonResponse(`${JSON.stringify(deps.configz())}\n`),
    flagz: flagz && textPage(flagz),
  };
}

/** For who renders Prometheus' text format. */
export function metricsHandler(render: () => string | Promise<string>): RouteHandler {
  return async () => ({ status: 200, headers: { 'content-type': metricsType }, body: await render() });
}

/** The read-only port, 10255: no authentication, so nothing that acts and nothing that tells secrets. */
export function readOnlyRoutes(handlers: RouteHandlers): readonly Route[] {
  return routesOf(readOnlySettings, handlers);
}

/** A gate that is off leaves a row without a handler here. */
const readOnlySettings: RouteSettings = {
  port: 'read-only',
  enableDebuggingHandlers: false,
  enableSystemLogHandler: false,
  enableProfilingHandler: false,
  enableDebugFlagsHandler: false,
  gates: { ContainerCheckpoint: false, ComponentFlagz: true, ComponentStatusz: false },
};
