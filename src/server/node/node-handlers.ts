// Handlers about the node itself: its log files, the kubelet's process, checkpoints of containers.
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { RouteHandlers } from '../routes.ts';
import { type CheckpointDeps, checkpointHandler } from './checkpoint.ts';
import { logVerbosityHandler } from './log-verbosity.ts';
import { type Profiler, profileHandlers } from './profiles.ts';
import { type SystemLogsDeps, systemLogsHandler } from './system-logs.ts';
import { type StatuszDeps, statuszHandler } from './zpages.ts';

interface NodeHandlersDeps extends Pick<CheckpointDeps, 'desired' | 'cri'> {
  readonly config: { readonly enableSystemLogQuery: boolean };
  readonly flags: { readonly rootDir: string; readonly enableHeapSnapshots: boolean };
  readonly gates: { readonly NodeLogQuery: boolean };
  readonly host: {
    /** The files of a directory; `others` are directories outside it that its links may lead to. */
    readonly logFiles: (options: {
      readonly root: string;
      readonly others: readonly string[];
    }) => SystemLogsDeps['files'];
    readonly journal: SystemLogsDeps['journal'];
    /** Directories of containers' logs, which links below /var/log lead to. */
    readonly containerLogDirs: readonly string[];
  };
  readonly process: {
    readonly profiler: Profiler;
    readonly versions: StatuszDeps['versions'];
    /** The log's verbosity; undefined if it cannot be changed while the kubelet runs. */
    readonly verbosity: { set(level: number): void } | undefined;
  };
  /** The paths that /statusz lists. */
  readonly paths: StatuszDeps['paths'];
  readonly clock: Pick<Clock, 'now'>;
}

const systemLogDirectory = '/var/log';

export function nodeHandlers(deps: NodeHandlersDeps): RouteHandlers {
  const { clock, config, cri, desired, flags, gates, host, paths, process } = deps;
  const { profiler, verbosity, versions } = process;
  const directory = join(flags.rootDir, 'checkpoints');
  return {
    checkpoint: checkpointHandler({ desired, cri, directory, clock }),
    systemLogs: systemLogsHandler({
      files: host.logFiles({ root: systemLogDirectory, others: host.containerLogDirs }),
      journal: host.journal,
      queries: gates.NodeLogQuery && config.enableSystemLogQuery,
    }),
    ...profileHandlers(profiler, { heapSnapshots: flags.enableHeapSnapshots }),
    logVerbosity: verbosity && logVerbosityHandler(verbosity),
    statusz: statuszHandler({ startedAtMs: clock.now(), now: () => clock.now(), versions, paths }),
  };
}
