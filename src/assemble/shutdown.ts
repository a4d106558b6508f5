// Graceful shutdown of the node: the manager, its record of the last shutdown, and the settings in force.

import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { ShutdownMetrics } from '../metrics/shutdown-metrics.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { ShutdownPeriods } from '../shutdown/grace-groups.ts';
import { ShutdownManager } from '../shutdown/shutdown-manager.ts';
import { ShutdownRecord } from '../shutdown/shutdown-record.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface ShutdownRooms {
  readonly stores: SharedStores;
  readonly active: ActivePods;
  /** Undefined without an API server. */
  readonly reports: { hasReportedEnd(uid: PodUid): boolean } | undefined;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
}

type ShutdownInput = Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log'>;

/** Undefined while the gate is off. Started before the sources, so that a shutdown in progress precedes the first pods. */
export function assembleShutdown(input: ShutdownInput, rooms: ShutdownRooms): ShutdownManager | undefined {
  const { clock, edges, flags, gates } = input;
  const { active, events, metrics, reports, stores } = rooms;
  const { desired, kills, lifecycles, observed, shutdown } = stores;
  const log = input.log.with({ component: 'shutdown' });
  if (!gates.GracefulNodeShutdown) return undefined;
  const byPriority = gates.GracefulNodeShutdownBasedOnPodPriority;
  return new ShutdownManager({
    logind: edges.logind,
    periods: () => shutdownPeriods(input),
    state: shutdown,
    record: new ShutdownRecord({
      files: edges.stateFiles,
      path: `${flags.rootDir}/graceful_node_shutdown_state`,
      metrics: byPriority ? new ShutdownMetrics(metrics.registry) : undefined,
      clock,
      log,
    }),
    active,
    lifecycles,
    observed,
    kills,
    desired,
    reports,
    events,
    clock,
    log,
  });
}

function shutdownPeriods({ config, gates }: Pick<ShutdownInput, 'config' | 'gates'>): ShutdownPeriods {
  const entries = gates.GracefulNodeShutdownBasedOnPodPriority ? config.shutdownGracePeriodByPodPriority : [];
  return {
    byPriority: entries.map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({
      priority,
      seconds: seconds,
    })),
    totalMs: config.shutdownGracePeriod.ms,
    criticalMs: config.shutdownGracePeriodCriticalPods.ms,
  };
}
