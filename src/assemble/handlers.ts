// The handlers of the route table, each over the stores and edges that it reads.
import type { Clock } from '../base/clock.ts';
import type { Logger, Verbosity } from '../base/log/log.ts';
import type { ParsedArgs } from '../config/command-line/parse-args.ts';
import { redactArguments } from '../config/command-line/redact-arguments.ts';
import { maskedConfiguration } from '../config/configz.ts';
import { renderFlagz } from '../config/flagz.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { emulationVersion, kubeletVersion } from '../config/version.ts';
import type { LogDirectoryOptions } from '../edge/logs/log-directory.ts';
import { containerLogsDirectory } from '../runtime/paths.ts';
import type { HealthCheck } from '../server/health.ts';
import { type LogHandlersDeps, type LogHost, logHandlers } from '../server/logs/log-handlers.ts';
import { metricsHandler } from '../server/metrics-handlers.ts';
import type { CheckpointDeps } from '../server/node/checkpoint.ts';
import { HealthSlis } from '../server/node/health-slis.ts';
import { nodeHandlers } from '../server/node/node-handlers.ts';
import type { Profiler } from '../server/node/profiles.ts';
import type { SystemLogsDeps } from '../server/node/system-logs.ts';
import type { RouteHandlers } from '../server/routes.ts';
import { type StateHandlersDeps, stateHandlers } from '../server/state-handlers.ts';
import { type StreamDeps, streamHandlers } from '../server/streams/stream-handlers.ts';

interface HandlersInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly args: ParsedArgs;
  readonly edges: {
    readonly logs: LogHost;
    readonly systemLogs: {
      readonly files: (options: LogDirectoryOptions) => SystemLogsDeps['files'];
      readonly journal: SystemLogsDeps['journal'];
    };
    readonly profiler: Profiler;
    readonly nodeVersion: string;
  };
  readonly stores: {
    readonly desired: StateHandlersDeps['stores']['desired'] & StreamDeps['desired'];
    readonly statuses: StateHandlersDeps['stores']['statuses'];
    readonly observed: StateHandlersDeps['stores']['observed'] & LogHandlersDeps['observed'];
  };
  readonly cri: StreamDeps['cri'] & CheckpointDeps['cri'];
  readonly checks: readonly HealthCheck[];
  readonly explain: () => unknown;
  readonly probeMetrics: { render(): string };
  /** The handlers of the stats summary and of /metrics. */
  readonly stats: RouteHandlers;
  readonly verbosity: Verbosity | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export function routeHandlers(input: HandlersInput): RouteHandlers {
  const { args, checks, clock, config, cri, edges, explain, flags, gates, log, stats, stores, verbosity } =
    input;
  const { desired, observed, statuses } = stores;
  return {
    ...stateHandlers({
      stores: { desired, statuses, observed },
      checks,
      slis: new HealthSlis(),
      explain,
      configz: () => ({ kubeletconfig: maskedConfiguration(config) }),
      flagz: () => renderFlagz(args),
    }),
    probeMetrics: metricsHandler(() => input.probeMetrics.render()),
    ...stats,
    ...streamHandlers({ desired, cri }),
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
      clock,
    }),
  };
}
