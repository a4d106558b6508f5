// Puts together what makes this machine a node of a cluster: its lease, its object, its pods from the API server and what
// is reported of them. Nothing here is waited for: without an API server static pods run as on a node that stands alone.

import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import { parseIp } from '../api/k8s/ip-address.ts';
import type { Node, Pod } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { ApiClient, Follow } from '../api/ports/api-client.ts';
import type { EventSink } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { kubeletVersion } from '../config/version.ts';
import { ClusterMetrics } from '../metrics/cluster-metrics.ts';
import { isReady } from '../node/node-conditions.ts';
import { NodeLease } from '../node/node-lease.ts';
import type { NodeSettings } from '../node/node-settings.ts';
import { NodeStatusLoop } from '../node/node-status-loop.ts';
import { OwnNode } from '../node/own-node.ts';
import { RuntimeState } from '../node/runtime-state.ts';
import { ApiPods } from '../pods/api-pods.ts';
import { ApiSource } from '../sources/api-source.ts';
import { leaseApi, nodeApi } from './cluster-api.ts';
import {
  type ClusterStores,
  findMirror,
  mirrorPods,
  onMirrorChanged,
  type RuntimeView,
  statusPusher,
} from './cluster-pods.ts';
import { gatherNodeFacts, type NodeFeatureFacts, type NodeHost } from './node-facts.ts';

/** The way to the API server; a node that stands alone has none. */
export interface ClusterApi {
  readonly client: ApiClient;
  readonly follow: Follow;
  /** What keeps the way open: started before all others. */
  readonly components?: readonly Component[];
  close(): void;
}

interface ClusterInput {
  readonly api: ClusterApi;
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly nodeName: string;
  readonly nodeIps: readonly string[];
  readonly machine: { readonly addresses: readonly string[] };
  readonly host: NodeHost;
  readonly cri: Pick<CriRuntime, 'status' | 'version'> & Pick<CriImages, 'listImages'>;
  readonly lastRelistAtMs: () => number | undefined;
  readonly runtime: RuntimeView;
  readonly features: NodeFeatureFacts;
  readonly stores: ClusterStores;
  readonly events: EventSink;
  readonly metrics: Metrics;
  /** When the machine was started, by the wall clock. */
  readonly bootedAtMs: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Cluster {
  /** Before all others, so that they stop last: the lease, then what statuses still have to be sent through. */
  readonly first: readonly Component[];
  /** The node and the pictures of its static pods. */
  readonly node: readonly Component[];
  /** After all others: pods arrive last. */
  readonly source: Component;
  readonly ownNode: OwnNode;
  readonly apiPods: ApiPods;
  /** The mirror pod that shows this static pod. */
  mirrorOf(pod: Pod): Pod | undefined;
  /** Calls with the UID of the static pod whose mirror pod has changed. */
  onMirrorChanged(listener: (uid: PodUid) => void): void;
  /** The node's addresses as its object shows them, primary first; the machine's own while it has none. */
  hostIPs(): readonly string[];
  /** Something that the node's status shows has changed: pressure, volumes in use, devices. */
  pokeNode(): void;
  /** What is wrong with the node's lease, if anything. */
  leaseHealth(): string | undefined;
  /** The runtime's connection has come or gone. */
  pokeRuntime(): void;
}

export function assembleCluster(input: ClusterInput): Cluster {
  const { api, clock, config, events, nodeName, stores } = input;
  const log = (component: string): Logger => input.log.with({ component });
  const ownNode = new OwnNode();
  const apiPods = new ApiPods();
  const closeConnections = (): void => api.client.closeConnections();
  const lease = new NodeLease({
    api: leaseApi(api.client, nodeName),
    nodeName,
    durationSeconds: config.nodeLeaseDurationSeconds,
    random: Math.random,
    repeatedFailure: closeConnections,
    clock,
    log: log('lease'),
  });
  const runtime = new RuntimeState({
    runtime: input.cri,
    lastRelistAtMs: input.lastRelistAtMs,
    clock,
    log: log('node'),
  });
  const gather = gatherNodeFacts({ ...input, runtime, log: log('node') });
  const nodeStatus = new NodeStatusLoop({
    api: nodeApi(api.client, nodeName),
    own: ownNode,
    gather: (signal) => {
      metrics.attempting();
      return gather(signal);
    },
    settings: nodeSettings(input),
    timing: {
      updateMs: config.nodeStatusUpdateFrequency.ms,
      reportMs: config.nodeStatusReportFrequency.ms,
      random: Math.random,
    },
    told: { events, repeatedFailure: closeConnections },
    clock,
    log: log('node'),
  });
  runtime.changed.subscribe(() => nodeStatus.poke());
  const metrics = new ClusterMetrics({
    registry: input.metrics,
    mirrorPods: () => apiPods.mirrorNames().length,
    clock,
    bootedAtMs: input.bootedAtMs,
  });
  const pusher = statusPusher(input, apiPods, metrics, log('status'));
  const mirrors = mirrorPods(input, apiPods, ownNode, log('mirror'));
  ownNode.changed.subscribe(() => {
    const node = ownNode.get();
    if (node !== undefined) {
      lease.nodeAppeared();
      metrics.observeNode({ isReady: isReady(node.status?.conditions) });
    }
    mirrors.pokeAll();
  });
  const source = new ApiSource({
    follow: api.follow,
    node: { name: nodeName, hasSynced: () => ownNode.hasSynced(), changed: ownNode.changed },
    objects: apiPods,
    publish: (name, pods) => {
      stores.desired.set(name, pods);
      mirrors.pokeAll();
    },
    clock,
    log: log('sources'),
  });
  return {
    first: [lease, watchNode(api.follow, nodeName, ownNode), pusher],
    node: [runtime, birthCry(events), nodeStatus, mirrors],
    source,
    ownNode,
    apiPods,
    mirrorOf: (pod) => findMirror(apiPods, pod),
    onMirrorChanged: (listener) => onMirrorChanged(stores, apiPods, listener),
    hostIPs: () => hostIPsOf(ownNode.get()) ?? input.machine.addresses,
    pokeNode: () => nodeStatus.poke(),
    pokeRuntime: () => runtime.poke(),
    leaseHealth: () => lease.health(),
  };
}

function nodeSettings({ config, flags, host, nodeIps, nodeName }: ClusterInput): NodeSettings {
  return {
    nodeName,
    hostname: nodeName,
    architecture: host.architecture(),
    operatingSystem: 'linux',
    labels: flags.nodeLabels,
    taints: config.registerWithTaints.map(({ key, value, effect, timeAdded }) => ({
      key,
      ...(value === '' ? {} : { value }),
      effect,
      ...(timeAdded === undefined ? {} : { timeAdded }),
    })),
    providerID: config.providerID,
    externalCloudProvider: flags.cloudProvider === 'external',
    controllerAttachDetach: config.enableControllerAttachDetach,
    registerNode: config.registerNode,
    nodeIps,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    kubeletPort: config.port,
    kubeletVersion,
    maxImages: config.nodeStatusMaxImages,
    localStorageIsolation: config.localStorageCapacityIsolation,
  };
}

function watchNode(follow: Follow, nodeName: string, own: OwnNode): Component {
  const target = { path: '/api/v1/nodes', fieldSelector: `metadata.name=${nodeName}` };
  return {
    name: 'node watch',
    start: async (signal) => ({ stopped: follow<Node>(target, own, signal) }),
  };
}

function birthCry(events: EventSink): Component {
  return {
    name: 'birth cry',
    start: async (signal) => {
      events.node({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
      return { stopped: untilAborted(signal) };
    },
  };
}

/** The first internal address and, in a cluster of two families, the first of the other one. */
function hostIPsOf(node: Node | undefined): readonly string[] | undefined {
  const addresses = node?.status?.addresses;
  if (addresses === undefined) return undefined;
  const ips = ['InternalIP', 'ExternalIP'].flatMap((type) =>
    addresses.filter((each) => each.type === type).map(({ address }) => address),
  );
  const [first] = ips;
  if (first === undefined) return [];
  const family = parseIp(first)?.family;
  const second = ips.find((ip) => parseIp(ip)?.family !== family);
  return second === undefined ? [first] : [first, second];
}
