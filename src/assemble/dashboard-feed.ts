// The live data of the node's page: what its stream is composed of.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import type { PageSources } from '../api/ports/page-sources.ts';
import { amountOf, type ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import type { Component } from '../base/component.ts';
import { kubeletVersion } from '../config/version.ts';
import { Feed } from '../dashboard/feed/feed.ts';
import { FeedMetrics } from '../dashboard/feed/feed-metrics.ts';
import { HealthViews } from '../dashboard/feed/health-views.ts';
import { NodeViews } from '../dashboard/feed/node-views.ts';
import type { DetailSources } from '../dashboard/feed/pod-details.ts';
import type { PodSources } from '../dashboard/feed/pod-rows.ts';
import type { UsageSource } from '../dashboard/feed/usage-sampler.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { EvictionDryRun } from '../eviction/dry-run.ts';
import type { HistoryReader } from '../history/read-history.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { Pleg } from '../pleg/pleg.ts';
import type { NodeBudget } from '../resources/allocatable/node-budget.ts';
import type { HealthCheck } from '../server/health.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { assembleServing } from './certs.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput, StatsEdge } from './input.ts';
import type { SharedStores } from './stores.ts';

interface DashboardFeedRooms {
  readonly stores: SharedStores;
  readonly explainer: PodSources['explainer'];
  readonly events: Pick<EventRecorder, 'recent'>;
  readonly history: { readonly reader: HistoryReader | undefined };
  readonly volumes: { readonly manager: DetailSources['volumes']; readonly mounts: DetailSources['mounts'] };
  readonly stats: { readonly usage: UsageSource | undefined; readonly load: NodeLoadSource };
  readonly readers: { readonly edge: StatsEdge };
  readonly eviction: { readonly dryRun: EvictionDryRun };
  readonly node: {
    readonly budget: NodeBudget;
    readonly checks: readonly HealthCheck[];
    readonly serving: ReturnType<typeof assembleServing>;
    readonly api: ClusterApi | undefined;
    readonly pleg: Pleg;
    readonly cri: Pick<CriRuntime, 'version'>;
  };
  readonly records: PageSources;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
}

interface AssembledDashboardFeed {
  readonly handlers: RouteHandlers;
  /** For a handler that knows what its client may do. */
  readonly feed: Feed;
  /** Started after the ports, so that it stops before them: viewers get a last message. */
  readonly components: readonly Component[];
}

type DashboardFeedInput = Pick<
  AssembleInput,
  'capacity' | 'clock' | 'configStatus' | 'edges' | 'log' | 'nodeName' | 'random'
>;

export function assembleDashboardFeed(
  input: DashboardFeedInput,
  rooms: DashboardFeedRooms,
): AssembledDashboardFeed {
  const { clock, edges, log, nodeName, random } = input;
  const { events, explainer, history, metrics, readers, records, stats, stores, volumes } = rooms;
  const { desired, lifecycles, observed, statuses } = stores;
  const { edge } = readers;
  const feed = new Feed({
    identity: {
      instance: Buffer.from(edges.randomBytes(16)).toString('hex'),
      nodeName,
      version: kubeletVersion,
      startedAtMs: clock.now(),
    },
    sources: {
      pods: { desired, lifecycles, observed, statuses, explainer },
      changes: [desired.changed, lifecycles.changed, observed.changed, statuses.changed],
      usage: stats.usage,
      node: nodeViews(input, rooms),
      detail: {
        mounts: volumes.mounts,
        volumes: volumes.manager,
        events,
        history: history.reader,
        starts: records.starts,
        probes: records.probeRuns,
      },
      health: new HealthViews({
        checks: rooms.node.checks,
        records: { loopViews: records.loops, calls: () => records.calls.list() },
        process: edge.own,
        loopDelay: edges.loopDelay,
        clock,
      }),
    },
    metrics: new FeedMetrics(metrics.registry),
    clock,
    random,
    pause: () => edge.pause(),
    log: log.with({ component: 'dashboard' }),
  });
  return { feed, handlers: { uiStream: (request) => feed.stream(request) }, components: [feed] };
}

function nodeViews(
  { capacity, clock, configStatus }: DashboardFeedInput,
  { eviction, node, stats, stores }: DashboardFeedRooms,
): NodeViews {
  const { api, budget, checks, cri, pleg, serving } = node;
  const cpuMillis = (amounts: ResourceAmounts): number => Number(amountOf(amounts, 'cpu').milliValue());
  return new NodeViews({
    checks,
    own: stores.ownNode,
    capacity: {
      cpuMillis: () => cpuMillis(budget.capacity()),
      allocatableCpuMillis: () => cpuMillis(budget.allocatable()),
      memoryBytes: Number(capacity.memoryBytes),
      maxPods: () => budget.maxPods(),
    },
    load: stats.load,
    eviction: eviction.dryRun,
    pressure: stores.pressure,
    runtime: {
      health: () => pleg.health(),
      version: (request, options) => cri.version(request, options),
    },
    state: {
      certificates: () => ({ serving: serving.pair()?.facts, client: api?.clientCertificate?.() }),
      configuration: configStatus,
    },
    clock,
  });
}
