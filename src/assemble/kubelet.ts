// The composition root: what each room depends on, and the order in which components start. Nothing is decided here.
// Stores first, then connections, then the loops in the order in which a pod passes them. ARCHITECTURE.md has the way of a
// pod, docs/wiring.md the stores, writers and wake-ups.
import type { Node } from '../api/k8s/types.ts';
import type { PageSources } from '../api/ports/page-sources.ts';
import { mergeChannels } from '../base/channel.ts';
import type { Component } from '../base/component.ts';
import { loopViews } from '../base/loop-load.ts';
import type { Store } from '../base/store.ts';
import { gateSamples } from '../config/gates/feature-gates.ts';
import type { PastEvent } from '../events/event-history.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { HostIps } from '../node/host-ips.ts';
import { ActivePods } from '../pods/active-pods.ts';
import { reportedResizes } from '../resources/allocation/resize-views.ts';
import { CheckpointFaults } from '../resources/checkpoint/report-faults.ts';
import { type HealthCheck, leaseChecks } from '../server/health.ts';
import { PodStarts } from '../starts/pod-starts.ts';
import { PodExplainer } from '../status/explain-pods.ts';
import { NodeAttachments } from '../volumes/attach/node-attachments.ts';
import { assembleAdmission, assembleResizes } from './admission.ts';
import { assembleAllocation } from './allocation.ts';
import { assembleAutonomy } from './autonomy.ts';
import { assembleServing } from './certs.ts';
import { assembleCsi } from './csi.ts';
import { assembleDashboard } from './dashboard.ts';
import { openEdges } from './edges.ts';
import { assembleEvents } from './events.ts';
import { assembleEviction } from './eviction.ts';
import { assembleExclusive } from './exclusive.ts';
import { routeHandlers } from './handlers.ts';
import { assembleHistory } from './history.ts';
import { assembleImageGc } from './image-gc.ts';
import { assembleImages } from './images.ts';
import type { AssembleInput } from './input.ts';
import { assembleLive } from './live.ts';
import { assembleLiveConfig, type KubeletTrial } from './live-config.ts';
import { assembleLogRotation } from './log-rotation.ts';
import { assembleNetwork } from './network.ts';
import { assembleNode, assembleStartup } from './node.ts';
import { assembleObjects, assembleStorage } from './objects.ts';
import { assemblePleg } from './pleg.ts';
import { assemblePodCertificates } from './pod-certificates.ts';
import { assemblePodResources } from './pod-resources.ts';
import { assemblePodsApi } from './pods-api.ts';
import { assembleProbes } from './probes.ts';
import { assembleBudget, assembleResources } from './resources.ts';
import { assembleRuntime } from './runtime.ts';
import { assembleServer } from './server.ts';
import { assembleShutdown } from './shutdown.ts';
import { assembleSources } from './sources.ts';
import { assembleStats, openStats } from './stats.ts';
import { assembleStatus } from './status.ts';
import { createStores, type SharedStores } from './stores.ts';
import { assembleVolumeHealth } from './volume-health.ts';
import { assembleFlexDrivers, assembleVolumes } from './volumes.ts';
import { assembleWorkers } from './workers.ts';

export interface Kubelet {
  /** Started in this order, stopped in reverse. */
  readonly components: readonly Component[];
  readonly stores: SharedStores;
  /** All stores and the other sources of wake-ups, for docs/wiring.md. */
  readonly wiring: { readonly stores: readonly Store[]; readonly sources: Readonly<Record<string, object>> };
  readonly events: Pick<EventRecorder, 'recent'>;
  readonly explainer: PodExplainer<PastEvent>;
  readonly checks: readonly HealthCheck[];
  /** Undefined without live configuration. */
  readonly trial: KubeletTrial | undefined;
  readonly page: PageSources;
  /** Closes the connections, after every component has stopped. */
  readonly close: () => void;
}

export function assemble(input: AssembleInput): Kubelet {
  const { clock, config, edges, flags, gates, log, machine, nodeName, random } = input;

  // Stores, and views over them.
  const stores = createStores(input);
  const { desired, lifecycles, observed, ownNode, probeResults, statuses } = stores;
  const starts = new PodStarts({ desired, lifecycles, observed, statuses, probes: probeResults, clock });
  const metrics = new KubeletMetrics({ desired, observed, gates: gateSamples(gates), nodeName, clock });
  const faults = new CheckpointFaults();
  const allocation = assembleAllocation(input, stores, faults);
  const { allocated, allocations, conditions } = allocation;
  const active = new ActivePods({ desired: allocated, lifecycles, statuses });
  const budget = assembleBudget(input);
  const hostIps = new HostIps({ ownNode, machineAddresses: machine.addresses });

  // Connections to the outside.
  const { api: connection, cgroups, close, cri } = openEdges(input, metrics);
  const autonomy = assembleAutonomy(input, { api: connection, stores, metrics, events: () => events });
  const { api } = autonomy;
  const readers = openStats(input);

  // What a pod needs before it starts.
  const events = assembleEvents(input, { api, ownNode });
  const { objects, components: objectLoops } = assembleObjects(input, { api, stores });
  const { storage, components: storageLoops } = assembleStorage(api);
  const csi = assembleCsi(input, { api, stores, storage, metrics });
  const podCertificates = assemblePodCertificates(input, { api, stores, objects, events, metrics });
  const exclusive = assembleExclusive(input, {
    stores,
    active,
    cri,
    cgroups,
    budget,
    metrics,
    events,
    drivers: csi.drivers,
    isInspected: (uid) => pleg.isInspected(uid),
  });
  const resources = assembleResources(input, {
    cgroups,
    active,
    budget,
    exclusive: exclusive.resources,
    events,
    metrics,
  });
  const images = assembleImages(input, { cri, objects, events, stages: starts, metrics: metrics.images });
  const attachments =
    api && new NodeAttachments({ ownNode, byController: config.enableControllerAttachDetach });
  const volumes = assembleVolumes({
    rootDir: flags.rootDir,
    get syncFrequencyMs() {
      return config.syncFrequency.ms;
    },
    get statsPeriodMs() {
      return config.volumeStatsAggPeriod.ms;
    },
    lifecycles,
    attachments,
    reject: (uid, refusal) => void stores.kills.kill(uid, refusal),
    gates,
    metrics: metrics.volumes,
    host: edges.volumes,
    objects,
    storage,
    drivers: csi.drivers,
    nodeName,
    programs: edges.hostPrograms,
    devices: edges.hostDevices,
    flexDrivers: assembleFlexDrivers(input),
    certificates: podCertificates.certificates,
    events,
    cri,
    allocatable: () => budget.allocatableList(),
    random,
    clock,
    log: log.with({ component: 'volumes' }),
  });
  const volumeHealth = assembleVolumeHealth(input, { csi, volumes, metrics });

  const logRotation = assembleLogRotation(input, { cri, stores });

  // The pod's way: run it, observe it, probe it, report it, admit it.
  const { hooks, runtime, unfinishedHooks } = assembleRuntime(input, {
    cri,
    images: images.manager,
    objects,
    volumes: volumes.manager,
    stores,
    allocations,
    cgroups: resources.podCgroups,
    exclusive: exclusive.resources,
    budget,
    hostIps,
    logRotation,
    metrics,
    events,
    stages: starts,
  });
  const observation = assemblePleg(input, { cri, stores, oom: resources.oom, metrics });
  const { pleg } = observation;
  // A container counts as running only after its postStart hook has succeeded.
  const reported = unfinishedHooks.reported(observed);
  const {
    probes,
    metrics: probeMetrics,
    runs: probeRuns,
  } = assembleProbes({
    desired,
    observed: reported,
    lifecycles,
    apiPods: stores.apiPods,
    results: probeResults,
    edges,
    cri,
    events,
    gates,
    rootDir: flags.rootDir,
    nodeIps: () => hostIps.current(),
    random,
    clock,
    log: log.with({ component: 'probes' }),
  });
  const resizeViews = reportedResizes(allocations, conditions, resources.podCgroups);
  const status = assembleStatus(input, {
    stores,
    allocated,
    reported,
    resizes: resizeViews,
    devices: exclusive.devices,
    volumeHealth: volumeHealth.store,
    pleg,
    hostIps,
  });
  const admission = assembleAdmission(input, {
    api,
    cri,
    stores,
    active,
    budget,
    exclusive: exclusive.resources,
    metrics,
    events,
  });
  const resizes = assembleResizes(input, {
    stores,
    allocations,
    conditions,
    admission,
    maySwap: (pod, container) => runtime.maySwap(pod, container),
    metrics,
    events,
  });
  const workers = assembleWorkers(input, {
    stores,
    allocated,
    unfinishedHooks,
    volumes: volumes.manager,
    pleg,
    runtime,
    admission,
    exclusive,
    resizes,
    metrics,
    events,
    stages: starts,
  });

  const imageGc = assembleImageGc(input, {
    cri,
    active,
    observed,
    history: images.history,
    host: readers.edge.host,
    events,
    metrics: metrics.images,
  });

  // The node and its ports.
  const features = {
    resources: exclusive.nodeResources,
    pressure: stores.pressure,
    shutdown: stores.shutdown,
    volumesInUse: () => volumes.manager.inUse.report(desired),
    volumesInUseChanged: mergeChannels(volumes.manager.inUse.changed, desired.ready),
    volumesInUseReported: (names: readonly string[], reported: Node) =>
      attachments?.reported(names, reported),
    startup: assembleStartup(input, { csi, devicePlugins: exclusive.devicePlugins }),
  };
  const { bootedAtMs } = readers.edge;
  const node = api && assembleNode(input, { api, stores, cri, pleg, features, bootedAtMs, metrics, events });
  const checks = [...observation.checks, ...leaseChecks(node?.lease), ...exclusive.checks];
  const activities = [
    exclusive.devices,
    images.manager,
    volumes.manager,
    hooks,
    conditions,
    ...podCertificates.components,
  ];
  const explainer = new PodExplainer({ desired, lifecycles, observed, statuses, events, activities, clock });
  const serving = assembleServing(input, { api, ownNode, metrics });
  const stats = assembleStats(input, { readers, stores, cgroups, cri, volumes: volumes.stats, metrics });
  const eviction = assembleEviction(input, {
    stores,
    active,
    load: stats.load,
    images: imageGc,
    containers: workers.containerReclaim,
    podsCgroup: stats.podsCgroup,
    pleg,
    metrics,
    events,
  });
  const history = assembleHistory(input, { stores, events, readers, cgroups, metrics });
  const liveConfig = assembleLiveConfig(input, {
    events,
    metrics,
    cri,
    checks,
    shutdown: stores.shutdown,
  });
  const shutdown = assembleShutdown(input, { stores, active, reports: node?.pusher, metrics, events });
  const page = { starts, probeRuns, calls: edges.calls, loops: () => loopViews(components) };
  const explain = { pods: explainer, eviction: eviction.dryRun };
  const routes = routeHandlers(input, { stores, cri, checks, explain, probeMetrics, stats, metrics });
  const dashboard = assembleDashboard(input, {
    stores,
    explainer,
    events,
    history,
    volumes,
    stats,
    readers,
    eviction,
    node: { budget, checks, serving, api, pleg, cri },
    records: page,
    containerLogs: routes.containerLogs,
    metrics,
  });
  const handlers = {
    ...routes,
    ...history.handlers,
    ...liveConfig.handlers,
    ...dashboard.handlers,
  };
  const { certificate } = serving;
  const servers = assembleServer(input, {
    checks,
    handlers,
    certificate,
    token: dashboard.token,
    api,
    metrics,
  });
  const podsApi = assemblePodsApi(input, { stores, metrics });
  const podResources = assemblePodResources(input, { stores, views: exclusive.views, metrics });

  const sources = assembleSources(input, { desired, observed, pleg });
  const live = assembleLive(input, {
    node,
    workers,
    volumes: volumes.manager,
    eviction,
    sources,
    logRotation,
    pulls: images.pulls,
    shutdown,
  });

  // Started in this order, stopped in reverse: the lease stops last, pods arrive last.
  const components = [
    ...(api?.components ?? []),
    ...autonomy.components,
    ...(node?.first ?? []),
    ...live,
    events,
    ...allocation.components,
    ...exclusive.managers,
    exclusive.releases(pleg),
    faults.reporter({ events, log: log.with({ component: 'checkpoints' }) }),
    starts,
    metrics.resizes.follow(conditions, desired),
    metrics.admissions.follow(admission),
    metrics.terminations.follow(stores),
    ...history.components,
    ...liveConfig.components,
    ...resources.components,
    ...objectLoops,
    ...storageLoops,
    ...csi.components,
    ...podCertificates.components,
    ...images.components,
    unfinishedHooks,
    ...observation.components,
    ...(logRotation === undefined ? [] : [logRotation]),
    probes,
    status,
    ...volumes.components,
    ...volumeHealth.components,
    ...(resizes === undefined ? [] : [resizes]),
    eviction.unfinished,
    ...workers.components,
    imageGc,
    // The ports are open before the node reports Ready.
    ...serving.components,
    ...stats.components,
    ...dashboard.components,
    ...servers,
    ...dashboard.streams,
    ...podsApi,
    ...exclusive.plugins,
    ...podResources,
    ...eviction.components,
    ...assembleNetwork(input),
    ...(node?.components ?? []),
    ...(shutdown === undefined ? [] : [shutdown]),
    ...Object.values(sources).filter((source) => source !== undefined),
    ...(node === undefined ? [] : [node.source]),
  ];
  const wiring = {
    stores: [
      ...Object.values(stores),
      ...liveConfig.stores,
      ...(input.live === undefined ? [] : [input.live]),
      ...podCertificates.stores,
      allocations,
      conditions,
      unfinishedHooks,
      probeRuns,
      starts,
      volumes.mounts,
      ...(volumeHealth.store === undefined ? [] : [volumeHealth.store]),
    ],
    sources: {
      admission,
      cri,
      devicePlugins: exclusive.devicePlugins,
      objects,
      ...volumes.sources,
      ...eviction.sources,
      ...(api && { apiServer: api }),
    },
  };
  const { trial } = liveConfig;
  return { components, stores, wiring, events, explainer, checks, trial, page, close };
}
