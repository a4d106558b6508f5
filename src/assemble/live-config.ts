// What a kubelet shows of its configurations: events, metrics and /configz/history. The configurations themselves outlive it.
import type { EventSink } from '../api/ports/events.ts';
import type { Component } from '../base/component.ts';
import type { Store } from '../base/store.ts';
import { configNotices } from '../live-config/config-notices.ts';
import { measureConfigStatus } from '../live-config/live-config-metrics.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { configHistoryHandler } from '../server/config-history-handler.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput } from './input.ts';

interface LiveConfigRooms {
  readonly events: Pick<EventSink, 'node'>;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
}

interface AssembledLiveConfig {
  readonly components: readonly Component[];
  readonly handlers: RouteHandlers;
  readonly stores: readonly Store[];
}

/** Nothing without --live-config. */
export function assembleLiveConfig(
  { configStatus }: Pick<AssembleInput, 'configStatus'>,
  { events, metrics }: LiveConfigRooms,
): AssembledLiveConfig {
  if (configStatus === undefined) return { components: [], handlers: {}, stores: [] };
  measureConfigStatus(metrics.registry, configStatus);
  return {
    components: [configNotices(configStatus, events)],
    handlers: { configHistory: configHistoryHandler(configStatus) },
    stores: [configStatus],
  };
}
