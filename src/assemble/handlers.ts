// The handlers of the route table, each over the stores and edges that it reads.
import { redactArguments } from '../config/command-line/redact-arguments.ts';
import { maskedConfiguration } from '../config/configz.ts';
import { flagValues } from '../config/flagz.ts';
import { emulationVersion, kubeletVersion } from '../config/version.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { containerLogsDirectory } from '../runtime/paths.ts';
import type { HealthCheck } from '../server/health.ts';
import { logHandlers } from '../server/logs/log-handlers.ts';
import { metricsHandler } from '../server/metrics-handlers.ts';
import type { CheckpointDeps } from '../server/node/checkpoint.ts';
import { HealthSlis } from '../server/node/health-slis.ts';
import { nodeHandlers } from '../server/node/node-handlers.ts';
import { listedPaths, type RouteHandlers } from '../server/routes.ts';
import { stateHandlers } from '../server/state-handlers.ts';
import { type StreamDeps, streamHandlers } from '../server/streams/stream-handlers.ts';
import { StreamMetrics } from '../server/streams/stream-metrics.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface HandlersRooms {
  readonly stores: SharedStores;
  readonly cri: StreamDeps['cri'] & CheckpointDeps['cri'];
  readonly checks: readonly HealthCheck[];
  readonly explain: {
    readonly pods: { explain(): object };
    readonly eviction: { node(): unknown; explain(): Promise<unknown> };
  };
  readonly probeMetrics: { render(): string };
  /** The handlers of the stats summary and of /metrics. */
  readonly stats: { readonly handlers: RouteHandlers };
  readonly metrics: KubeletMetrics;
}

type HandlersInput = Pick<
  AssembleInput,
  'args' | 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'verbosity'
>;

export function routeHandlers(input: HandlersInput, rooms: HandlersRooms): RouteHandlers {
  const { args, clock, config, edges, flags, gates, log, verbosity } = input;
  const { checks, cri, explain, metrics, probeMetrics, stats, stores } = rooms;
  const { desired, observed, statuses } = stores;
  const handlers: RouteHandlers = {
    ...stateHandlers({
      stores: { desired, statuses, observed },
      checks,
      slis: new HealthSlis(),
      explain: () => ({ node: explain.eviction.node(), ...explain.pods.explain() }),
      explainEviction: () => explain.eviction.explain(),
      configz: () => ({ kubeletconfig: maskedConfiguration(config) }),
      flagz: () => flagValues(args),
    }),
    probeMetrics: metricsHandler(() => probeMetrics.render()),
    ...stats.handlers,
    ...streamHandlers({
      desired,
      cri,
      webSockets: gates.ExtendWebSocketsToKubelet,
      metrics: new StreamMetrics(metrics.registry),
    }),
    ...logHandlers({
      desired,
      statuses,
      observed,
      host: edges.logs,
      splitStreams: gates.PodLogsQuerySplitStreams,
      clock,
      log: log.with({ component: 'logs' }),
    }),
    ...nodeHandlers({
      desired,
      cri,
      config,
      flags,
      gates,
      host: {
        logFiles: edges.systemLogs.files,
        journal: edges.systemLogs.journal,
        containerLogDirs: [config.podLogsDir, containerLogsDirectory(config.podLogsDir)],
      },
      process: {
        profiler: { ...edges.profiler, commandLine: redactArguments(edges.profiler.commandLine) },
        versions: { node: edges.nodeVersion, binary: kubeletVersion, emulation: emulationVersion },
        verbosity,
      },
      paths: () => listedPaths({ ...config, gates }, handlers),
      clock,
    }),
  };
  return handlers;
}
