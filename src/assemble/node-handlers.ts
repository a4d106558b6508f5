// Who answers what is asked about the node itself: its logs, its process, checkpoints of its containers.
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Verbosity } from '../base/log/log.ts';
import { redactArguments } from '../config/command-line/redact-arguments.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { kubeletVersion, upstreamVersion } from '../config/version.ts';
import type { LogDirectoryOptions } from '../edge/logs/log-directory.ts';
import { containerLogsDirectory } from '../runtime/paths.ts';
import { type CheckpointDeps, checkpointHandler } from '../server/node/checkpoint.ts';
import { logVerbosityHandler } from '../server/node/log-verbosity.ts';
import { type Profiler, profileHandlers } from '../server/node/profiles.ts';
import { type SystemLogsDeps, systemLogsHandler } from '../server/node/system-logs.ts';
import { statuszHandler } from '../server/node/zpages.ts';
import type { RouteHandlers } from '../server/routes.ts';

interface NodeHandlersInput extends Pick<CheckpointDeps, 'desired' | 'cri'> {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly edges: {
    readonly systemLogs: {
      readonly files: (options: LogDirectoryOptions) => SystemLogsDeps['files'];
      readonly journal: SystemLogsDeps['journal'];
    };
    readonly profiler: Profiler;
    readonly nodeVersion: string;
  };
  readonly verbosity?: Verbosity;
  readonly clock: Clock;
}

const systemLogDirectory = '/var/log';

export function nodeHandlers(input: NodeHandlersInput): RouteHandlers {
  const { clock, config, cri, desired, edges, flags, gates, verbosity } = input;
  const profiler = { ...edges.profiler, commandLine: redactArguments(edges.profiler.commandLine) };
  const directory = join(flags.rootDir, 'checkpoints');
  const others = [config.podLogsDir, containerLogsDirectory(config.podLogsDir)];
  return {
    checkpoint: checkpointHandler({ desired, cri, directory, clock }),
    systemLogs: systemLogsHandler({
      files: edges.systemLogs.files({ root: systemLogDirectory, others }),
      journal: edges.systemLogs.journal,
      queries: gates.NodeLogQuery && config.enableSystemLogQuery,
    }),
    ...profileHandlers(profiler, { heapSnapshots: flags.enableHeapSnapshots }),
    logVerbosity: verbosity && logVerbosityHandler(verbosity),
    statusz: statuszHandler({
      startedAtMs: clock.now(),
      now: () => clock.now(),
      versions: {
        node: edges.nodeVersion,
        binary: kubeletVersion,
        emulation: upstreamVersion.split('.').slice(0, 2).join('.').slice(1),
      },
    }),
  };
}
