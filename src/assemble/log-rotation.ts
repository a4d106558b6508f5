// Rotation of container logs. Off if containerLogMaxSize is negative.
import type { CriRuntime } from '../api/cri/runtime.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { LogRotation } from '../logs/log-rotation.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface LogRotationRooms {
  readonly cri: Pick<CriRuntime, 'reopenContainerLog'>;
  readonly stores: Pick<SharedStores, 'observed'>;
}

export function assembleLogRotation(
  { clock, config, edges, log }: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'log'>,
  { cri, stores: { observed } }: LogRotationRooms,
): LogRotation | undefined {
  const maxBytes = Number(Quantity.parse(config.containerLogMaxSize).scaledValue(0));
  if (maxBytes < 0) return undefined;
  return new LogRotation({
    observed,
    cri,
    host: edges.logRotation(config.podLogsDir),
    clock,
    log: log.with({ component: 'log-rotation' }),
    settings: {
      maxBytes,
      maxFiles: config.containerLogMaxFiles,
      maxWorkers: config.containerLogMaxWorkers,
      monitorIntervalMs: config.containerLogMonitorInterval.ms,
      podLogsDir: config.podLogsDir,
    },
  });
}
