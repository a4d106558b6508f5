// Rotation of container logs. Off if containerLogMaxSize is negative, unless the configuration can change.
import type { CriRuntime } from '../api/cri/runtime.ts';
import { cachedBy } from '../base/cached-by.ts';
import { LogRotation, parseMaxBytes } from '../logs/log-rotation.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface LogRotationRooms {
  readonly cri: Pick<CriRuntime, 'reopenContainerLog'>;
  readonly stores: Pick<SharedStores, 'observed'>;
}

export function assembleLogRotation(
  { clock, config, edges, live, log }: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'live' | 'log'>,
  { cri, stores: { observed } }: LogRotationRooms,
): LogRotation | undefined {
  const maxBytes = cachedBy(() => [config.containerLogMaxSize], parseMaxBytes);
  if (maxBytes() === Number.POSITIVE_INFINITY && live === undefined) return undefined;
  return new LogRotation({
    observed,
    cri,
    host: edges.logRotation(config.podLogsDir),
    clock,
    log: log.with({ component: 'log-rotation' }),
    settings: {
      get maxBytes() {
        return maxBytes();
      },
      get maxFiles() {
        return config.containerLogMaxFiles;
      },
      get maxWorkers() {
        return config.containerLogMaxWorkers;
      },
      get monitorIntervalMs() {
        return config.containerLogMonitorInterval.ms;
      },
      podLogsDir: config.podLogsDir,
    },
  });
}
