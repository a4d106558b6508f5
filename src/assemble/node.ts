// A node of a cluster: its lease, its Node object, mirror pods, pushed statuses, and the source of pods from the API server.
import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Component } from '../base/component.ts';
import { kubeletVersion } from '../config/version.ts';
import { leaseApi, nodeApi, podApi, readServerVersion } from '../edge/apiserver/resource-clients.ts';
import { ClusterMetrics } from '../metrics/cluster-metrics.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { NodeFactsGatherer, type NodeFeatureFacts } from '../node/gather-node-facts.ts';
import { NodeLease } from '../node/node-lease.ts';
import { nodeSettings } from '../node/node-settings.ts';
import { NodeStatusLoop } from '../node/node-status-loop.ts';
import { NodeWatch } from '../node/node-watch.ts';
import { RuntimeState } from '../node/runtime-state.ts';
import { startingEvent } from '../node/starting-event.ts';
import { StartupProblems } from '../node/startup-problems.ts';
import { VersionCheck } from '../node/version-check.ts';
import type { Pleg } from '../pleg/pleg.ts';
import type { RegisteredDevicePlugins } from '../plugins/registered-device-plugins.ts';
import { MirrorPods } from '../pods/mirror-pods.ts';
import { ApiSource } from '../sources/api-source.ts';
import { StatusPusher } from '../status/push/status-pusher.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { CsiRoom } from './csi.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface NodeRooms {
  readonly api: ClusterApi;
  readonly stores: SharedStores;
  readonly cri: Pick<CriRuntime, 'status' | 'version'> &
    Pick<CriImages, 'listImages'> & { readonly connectionChanged: Subscribable<boolean> };
  readonly pleg: Pleg;
  /** What the other rooms contribute to the node's object. */
  readonly features: NodeFeatureFacts;
  /** When the machine booted, by the wall clock; 0 if unknown. */
  readonly bootedAtMs: number;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
}

interface AssembledNode {
  readonly lease: NodeLease;
  readonly status: NodeStatusLoop;
  readonly pusher: StatusPusher;
  /** Started first, so that they stop last: the lease, and the pusher of the last statuses. */
  readonly first: readonly Component[];
  /** Started after the ports are open. */
  readonly components: readonly Component[];
  /** Started last: pods arrive when everything else is ready. */
  readonly source: Component;
}

type NodeInput = Pick<
  AssembleInput,
  'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'nodeIps' | 'nodeName' | 'random'
>;

export function assembleNode(input: NodeInput, rooms: NodeRooms): AssembledNode {
  const { clock, config, edges, flags, gates, log, nodeIps = [], nodeName, random } = input;
  const { api, cri, events, features, pleg, stores } = rooms;
  const { client, follow } = api;
  const { apiPods, desired, lifecycles, observed, ownNode, statuses } = stores;
  const nodeLog = log.with({ component: 'node' });
  const repeatedFailure = client.closeConnections.bind(client);
  const pods = podApi(client);
  const metrics = new ClusterMetrics({
    registry: rooms.metrics.registry,
    mirrorPods: () => apiPods.mirrorNames().length,
    clock,
    bootedAtMs: rooms.bootedAtMs,
  });
  const lease = new NodeLease({
    api: leaseApi(client, nodeName),
    nodeName,
    get durationSeconds() {
      return config.nodeLeaseDurationSeconds;
    },
    own: ownNode,
    random,
    repeatedFailure,
    clock,
    log: log.with({ component: 'lease' }),
  });
  const pusher = new StatusPusher({
    stores: { statuses, lifecycles, observed, desired, apiPods },
    api: pods,
    observe: (seconds) => metrics.observeStatusSync(seconds),
    clock,
    log: log.with({ component: 'status' }),
  });
  const runtime = new RuntimeState({ runtime: cri, pleg, clock, log: nodeLog });
  const facts = new NodeFactsGatherer({
    host: edges.nodeHost,
    cri,
    runtime,
    features,
    nodeName,
    clock,
    log: nodeLog,
  });
  const status = new NodeStatusLoop({
    api: nodeApi(client, nodeName),
    own: ownNode,
    facts,
    settings: nodeSettings({
      config,
      flags,
      gates,
      nodeName,
      nodeIps,
      architecture: edges.nodeHost.architecture(),
      kubeletVersion,
    }),
    timing: {
      get updateMs() {
        return config.nodeStatusUpdateFrequency.ms;
      },
      get reportMs() {
        return config.nodeStatusReportFrequency.ms;
      },
      random,
    },
    report: { events, attempting: () => metrics.attempting(), repeatedFailure },
    clock,
    log: nodeLog,
  });
  const mirrors = new MirrorPods({
    stores: { desired, lifecycles, observed, apiPods, ownNode },
    runtime: pleg,
    nodeName,
    api: pods,
    clock,
    log: log.with({ component: 'mirror' }),
  });
  const source = new ApiSource({
    follow,
    nodeName,
    ownNode,
    objects: apiPods,
    publish: desired.set.bind(desired),
    publishKept: desired.setKept.bind(desired),
    clock,
    log: log.with({ component: 'sources' }),
  });
  const versions = new VersionCheck({
    read: (signal) => readServerVersion(client, signal),
    kubeletVersion,
    connected: api.connected,
    clock,
    log: nodeLog,
  });
  return {
    lease,
    status,
    pusher,
    first: [lease, new NodeWatch({ follow, nodeName, own: ownNode }), pusher],
    components: [metrics.follow(ownNode), runtime, startingEvent(events), status, mirrors, versions],
    source,
  };
}

/** What the node waits for before it is Ready for the first time. */
export function assembleStartup(
  { flags }: Pick<AssembleInput, 'flags'>,
  { csi, devicePlugins }: { readonly csi: CsiRoom; readonly devicePlugins: RegisteredDevicePlugins },
): StartupProblems {
  const { csiNode, drivers } = csi;
  const isDriver = (name: string): boolean => drivers.isRegistered(name);
  const isPlugin = (name: string): boolean => devicePlugins.isRegistered(name);
  return new StartupProblems({
    csiNode,
    required: [
      {
        kind: 'CSI driver',
        names: flags.readyRequiresCsiDrivers,
        isRegistered: isDriver,
        changed: drivers.changed,
      },
      {
        kind: 'device plugin',
        names: flags.readyRequiresDevicePlugins,
        isRegistered: isPlugin,
        changed: devicePlugins.changed,
      },
    ],
  });
}
