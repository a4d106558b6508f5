// The history of ends: the component that records them, and the reader behind /explain/history.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import type { Component } from '../base/component.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { EndHistory } from '../history/end-history.ts';
import { HistoryMetrics } from '../history/history-metrics.ts';
import { MomentFigures } from '../history/moment-figures.ts';
import { HistoryReader } from '../history/read-history.ts';
import { RecordedIds } from '../history/recorded-ids.ts';
import { HistorySegments } from '../history/segments.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { podsCgroup } from '../resources/cgroups/cgroup-policies.ts';
import { historyHandler } from '../server/history-handler.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput, StatsEdge } from './input.ts';
import type { SharedStores } from './stores.ts';

interface HistoryRooms {
  readonly stores: SharedStores;
  readonly events: Pick<EventRecorder, 'recent'>;
  readonly readers: { readonly edge: StatsEdge };
  /** Undefined on a machine without cgroups. */
  readonly cgroups: Pick<Cgroups, 'path'> | undefined;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
}

interface AssembledHistory {
  readonly components: readonly Component[];
  readonly handlers: RouteHandlers;
  readonly reader: HistoryReader | undefined;
}

type HistoryInput = Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'log' | 'machine'>;

/** No component and no handler with --history-max-size=0. */
export function assembleHistory(
  { clock, config, edges, flags, log, machine }: HistoryInput,
  { cgroups, events, metrics, readers, stores }: HistoryRooms,
): AssembledHistory {
  const historyMetrics = new HistoryMetrics(metrics.registry);
  const maxBytes = Number(Quantity.parse(flags.historyMaxSize).value());
  if (maxBytes === 0) return { components: [], handlers: {}, reader: undefined };
  const { edge } = readers;
  const { pause } = edges;
  const historyLog = log.with({ component: 'end-history' });
  const segments = new HistorySegments(edges.historyFiles(`${flags.rootDir}/history`), maxBytes);
  const root = podsCgroup(config.cgroupRoot);
  const podPaths = (uid: PodUid): readonly string[] =>
    [[], ['burstable'], ['besteffort']].flatMap((qos) => cgroups?.path([...root, ...qos, `pod${uid}`]) ?? []);
  const history = new EndHistory({
    stores,
    events,
    figures: new MomentFigures({
      cgroups: edge.cgroups,
      podPaths,
      tasks: () => edge.host.tasks(),
      space: (path) => edge.host.space(path),
      rootDir: flags.rootDir,
      memoryBytes: Number(machine.memoryBytes),
      clock,
    }),
    tails: edges.tails,
    segments,
    recorded: new RecordedIds({
      segments,
      onUnreadable: (err) => historyLog.warn('Failed to read the history', { err }),
      clock,
      pause,
    }),
    logLines: flags.historyLogLines,
    metrics: historyMetrics,
    clock,
    log: historyLog,
  });
  const reader = new HistoryReader({ segments, clock, pause });
  return { components: [history], handlers: { history: historyHandler(reader) }, reader };
}
