// What wakes which component when the configuration changes while the kubelet runs, so that it need not wait for its next turn.
import type { Component } from '../base/component.ts';
import { followConfiguration } from '../config/live/follow-configuration.ts';
import type { SharedPulls } from '../images/shared-pulls.ts';
import type { LogRotation } from '../logs/log-rotation.ts';
import type { NodeLease } from '../node/node-lease.ts';
import type { NodeStatusLoop } from '../node/node-status-loop.ts';
import type { ShutdownManager } from '../shutdown/shutdown-manager.ts';
import type { AssembleInput } from './input.ts';

interface LiveRooms {
  /** Undefined on a standalone node. */
  readonly node: { readonly lease: NodeLease; readonly status: NodeStatusLoop } | undefined;
  readonly workers: { readonly pokeAll: () => void };
  readonly volumes: { scheduleUpdates(): void };
  readonly eviction: { readonly settingsChanged: () => void };
  readonly sources: Readonly<Record<'files' | 'url', { poke(): void } | undefined>>;
  readonly logRotation: LogRotation | undefined;
  readonly pulls: SharedPulls;
  /** Undefined while its gate is off. */
  readonly shutdown: ShutdownManager | undefined;
}

/** None without live configuration. */
export function assembleLive(
  { config, live, verbosity }: Pick<AssembleInput, 'config' | 'live' | 'verbosity'>,
  { eviction, logRotation, node, pulls, shutdown, sources, volumes, workers }: LiveRooms,
): readonly Component[] {
  if (live === undefined) return [];
  const { pokeAll } = workers;
  const evict = eviction.settingsChanged;
  const reportNode = (): void => node?.status.poke();
  const rotateLogs = (): void => logRotation?.settingsChanged();
  const pullImages = (): void => pulls.limitsChanged();
  const holdLock = (): void => shutdown?.poke();
  return [
    followConfiguration(live, {
      'logging.verbosity': () => verbosity?.set(config.logging.verbosity),
      syncFrequency: () => {
        pokeAll();
        volumes.scheduleUpdates();
      },
      'crashLoopBackOff.maxContainerRestartPeriod': pokeAll,
      fileCheckFrequency: () => sources.files?.poke(),
      httpCheckFrequency: () => sources.url?.poke(),
      serializeImagePulls: pullImages,
      maxParallelImagePulls: pullImages,
      maxPods: reportNode,
      nodeStatusMaxImages: reportNode,
      nodeStatusUpdateFrequency: reportNode,
      nodeLeaseDurationSeconds: () => node?.lease.renew(),
      containerLogMaxSize: rotateLogs,
      containerLogMaxWorkers: rotateLogs,
      containerLogMonitorInterval: rotateLogs,
      evictionHard: () => {
        evict();
        // It is a part of what is allocatable.
        reportNode();
      },
      shutdownGracePeriod: holdLock,
      shutdownGracePeriodCriticalPods: holdLock,
      shutdownGracePeriodByPodPriority: holdLock,
      evictionSoft: evict,
      evictionSoftGracePeriod: evict,
      evictionMinimumReclaim: evict,
      evictionPressureTransitionPeriod: evict,
    }),
  ];
}
