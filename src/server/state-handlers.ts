// Handlers that report the kubelet's own state: health, pods, configuration. Pure: no socket, no clock.
// Upstream: pkg/kubelet/server/server.go (NewServer, InstallAuthNotRequiredHandlers) and cmd/kubelet/app/server.go.
import { type HealthCheck, type HealthObserver, healthHandlers } from './health.ts';
import { type HttpHandler, jsonResponse, type RouteHandler } from './http-message.ts';
import { flagzHandler } from './node/zpages.ts';
import {
  type ListedObservations,
  type ListedPods,
  type ListedStatuses,
  PodList,
  RunningPods,
} from './pod-list.ts';
import { type Route, route } from './router.ts';
import { type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';

/** The health port, 10248: serves /healthz and nothing else. */
export function healthHandler(checks: readonly HealthCheck[]): HttpHandler {
  // differs from upstream: there this port only answers pings, and failing checks are reported on 10250 alone.
  return route(routesOf(readOnlySettings, healthHandlers(checks)));
}

interface StateHandlersDeps {
  readonly stores: {
    readonly desired: ListedPods;
    readonly statuses: ListedStatuses;
    readonly observed: ListedObservations;
  };
  readonly checks: readonly HealthCheck[];
  /** Records the results of health checks and serves them as /metrics/slis. */
  readonly slis: HealthObserver & { readonly handle: RouteHandler };
  /** What every pod is waiting for, with its recent events. */
  readonly explain: () => unknown;
  /** What eviction would do now. */
  readonly explainEviction: () => Promise<unknown>;
  /** The effective configuration, secrets masked. */
  readonly configz: () => unknown;
  /** The command-line flags with their values, secrets masked. */
  readonly flagz: Parameters<typeof flagzHandler>[0];
}

export function stateHandlers(deps: StateHandlersDeps): RouteHandlers {
  const { desired, observed, statuses } = deps.stores;
  const podList = new PodList(desired, statuses);
  const runningPods = new RunningPods(observed);
  return {
    ...healthHandlers(deps.checks, deps.slis),
    sliMetrics: deps.slis.handle,
    pods: () => jsonResponse(podList.body()),
    runningPods: () => jsonResponse(runningPods.body()),
    explain: () => jsonResponse(`${JSON.stringify(deps.explain())}\n`),
    explainEviction: async () => jsonResponse(`${JSON.stringify(await deps.explainEviction())}\n`),
    configz: () => jsonResponse(`${JSON.stringify(deps.configz())}\n`),
    flagz: flagzHandler(deps.flagz),
  };
}

/** The read-only port, 10255: unauthenticated, so it serves no route that acts and none that reveals secrets. */
export function readOnlyRoutes(handlers: RouteHandlers): readonly Route[] {
  return routesOf(readOnlySettings, handlers);
}

/** No row with a gate is served on this port. */
const readOnlySettings: RouteSettings = {
  port: 'read-only',
  enableDebuggingHandlers: false,
  enableSystemLogHandler: false,
  enableProfilingHandler: false,
  enableDebugFlagsHandler: false,
  gates: { ContainerCheckpoint: false, ComponentFlagz: false, ComponentStatusz: false },
};
