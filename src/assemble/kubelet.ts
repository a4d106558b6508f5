// The composition root: the only file besides main.ts that knows everyone. It reads as the architecture:
// stores first, then edges, then the loops over them; nothing is started here.
import { type Component, on, reaction } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { gateSamples } from '../config/gates/feature-gates.ts';
import { restClientMetrics } from '../edge/apiserver/metrics.ts';
import { eventPost } from '../edge/apiserver/resource-clients.ts';
import type { PastEvent } from '../events/event-history.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { HostIps } from '../node/host-ips.ts';
import { healthChecks, type NamedCheck } from '../pleg/health-checks.ts';
import { Pleg } from '../pleg/pleg.ts';
import { RuntimeEvents } from '../pleg/runtime-events.ts';
import { ActivePods } from '../pods/active-pods.ts';
import { rejectPod } from '../pods/pod-rejection.ts';
import { actuatedResizes, reportedResizes } from '../resources/allocation/resize-views.ts';
import { leaseChecks } from '../server/health.ts';
import { PodExplainer } from '../status/explain-pods.ts';
import { MemoryTrimmer } from '../workers/memory-trimmer.ts';
import type { PodWorkers } from '../workers/pod-workers.ts';
import { assembleAdmission, assembleResizes } from './admission.ts';
import { assembleAllocation } from './allocation.ts';
import { assembleServing } from './certs.ts';
import { assembleEvents } from './events.ts';
import { routeHandlers } from './handlers.ts';
import { assembleImages } from './images.ts';
import type { AssembleInput } from './input.ts';
import { assembleNode } from './node.ts';
import { assembleObjects } from './objects.ts';
import { assembleProbes } from './probes.ts';
import { assembleBudget, assembleResources } from './resources.ts';
import { assembleRuntime } from './runtime.ts';
import { assembleServer } from './server.ts';
import { assembleSources } from './sources.ts';
import { assembleStats, openStats } from './stats.ts';
import { assembleStatus } from './status.ts';
import { createStores, type SharedStores } from './stores.ts';
import { timedCgroups, timedImages } from './timed.ts';
import { assembleVolumes } from './volumes.ts';
import { assembleWorkers } from './workers.ts';

/** The safety net under events and own actions. */
const relistMs = 1_000;
/** A list or an inspection that takes longer is given up and asked again. */
const callTimeoutMs = 20_000;
export interface Kubelet {
  /** Started in this order, stopped in reverse. */
  readonly components: readonly Component[];
  readonly stores: SharedStores;
  /** What was last said about pods and the node. */
  readonly events: Pick<EventRecorder, 'recent'>;
  /** Where every pod is and what it waits for. */
  readonly explain: () => ReturnType<PodExplainer<PastEvent>['explain']>;
  /** For who ends pods from inside the process. */
  readonly workers: Pick<PodWorkers, 'kill'>;
  /** What the health port tells, for who watches from inside the process. */
  readonly checks: readonly NamedCheck[];
  /** Lets go of the connections, when every component has stopped. */
  close(): void;
}

export function assemble(input: AssembleInput): Kubelet {
  const { clock, config, edges, flags, gates, log, machine, nodeName, random } = input;
  const component = (name: string): Logger => log.with({ component: name });

  // ── stores ──
  const stores = createStores(input);
  const { desired, lifecycles, observed, ownNode, probeResults, statuses } = stores;
  const {
    allocated,
    allocations,
    components: allocationLoops,
    conditions,
    topology,
  } = assembleAllocation(input, stores);
  const active = new ActivePods({ desired: allocated, lifecycles, statuses });
  const budget = assembleBudget(input);
  const hostIps = new HostIps({ ownNode, machineAddresses: machine.addresses });

  // ── edges ──
  const metrics = new KubeletMetrics({ desired, observed, gates: gateSamples(gates), nodeName, clock });
  const api = input.cluster?.(restClientMetrics(metrics.registry), metrics.registry);
  const cri = edges.cri({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint,
    requestTimeoutMs: config.runtimeRequestTimeout.ms,
    observe: (observation) => metrics.observeRuntime(observation),
  });
  const cgroups = timedCgroups(
    edges.cgroups({ driver: config.cgroupDriver, pageSizes: machine.hugePageSizes }),
    metrics.work,
    clock,
  );
  const readers = openStats(input);

  // ── loops ──
  const events = assembleEvents({ post: api && eventPost(api.client), config, nodeName, random, clock, log });
  const { objects, components: objectLoops } = assembleObjects(input, { api, stores });
  const resources = assembleResources(input, { cgroups, active, budget, events });
  const images = assembleImages({
    config,
    flags,
    gates,
    cri,
    host: edges.imageHost,
    objects,
    events,
    metrics: metrics.images,
    providers: input.credentialProviders,
    clock,
    log,
  });
  const volume = assembleVolumes({
    rootDir: flags.rootDir,
    syncFrequencyMs: config.syncFrequency.ms,
    statsPeriodMs: config.volumeStatsAggPeriod.ms,
    lifecycles,
    gates,
    random,
    metrics: metrics.volumes,
    host: edges.volumes,
    objects,
    events,
    cri,
    images: images.manager,
    allocatable: () => budget.allocatableList(),
    clock,
    log: component('volumes'),
  });
  const { runtime, hooks, unfinishedHooks } = assembleRuntime({
    capacity: input.capacity,
    config,
    flags,
    gates,
    machine,
    edges,
    cri,
    images: timedImages(images.manager, metrics.podStarts),
    cgroups: resources.podCgroups,
    events,
    objects,
    volumes: volume.manager,
    probes: probeResults,
    resizes: gates.InPlacePodVerticalScaling ? actuatedResizes(allocations, metrics.resizes) : undefined,
    starts: metrics.starts,
    allocatable: () => budget.allocatableList(),
    mostMemoryBytes: () => budget.mostMemoryBytes(),
    hostIps: () => hostIps.current(),
    observed,
    clock,
    log: component('runtime'),
  });
  // A container is up once its postStart hook has succeeded: until then it is neither reported as running nor probed.
  const reported = unfinishedHooks.reported(observed);
  const pleg = new Pleg({
    runtime: cri,
    node: { files: edges.tails, wasOomKilled: (containerId) => resources.oom.hasKilledIn(containerId) },
    observed,
    clock,
    log: component('pleg'),
    settings: { relistMs, callTimeoutMs },
    isBeingSynced: (uid) => workers.isBeingSynced(uid),
    onRelist: (seconds) => metrics.pleg.observeRelist(seconds),
  });
  const node =
    api &&
    assembleNode(input, {
      api,
      stores,
      cri,
      pleg,
      features: {
        resources: budget,
        volumesInUse: () => (desired.sourcesReady() ? volume.manager.inUse() : undefined),
      },
      bootedAtMs: readers.edge.bootedAtMs,
      metrics,
      events,
    });
  const runtimeEvents = new RuntimeEvents({
    runtime: cri,
    poke: (uid) => pleg.poke(uid),
    metrics: metrics.pleg,
    clock,
    log: component('pleg'),
  });
  const { probes, metrics: probeMetrics } = assembleProbes({
    desired,
    observed: reported,
    lifecycles,
    results: probeResults,
    edges,
    cri,
    events,
    gates,
    rootDir: flags.rootDir,
    nodeIps: () => hostIps.current(),
    random,
    clock,
    log: component('probes'),
  });
  const status = assembleStatus(input, {
    stores,
    allocated,
    reported,
    resizes: reportedResizes(allocations, conditions),
    pleg,
    hostIps,
  });
  const admission = assembleAdmission(input, {
    stores,
    active,
    budget,
    topology,
    kill: (uid, kill) => workers.kill(uid, kill),
    metrics,
    events,
  });
  const resizes = assembleResizes(input, {
    stores,
    allocations,
    conditions,
    admission,
    budget,
    maySwap: (pod, container) => runtime.maySwap(pod, container),
    metrics,
    events,
  });
  const { appArmor = false, kernelRelease = '' } = machine;
  const { allowedUnsafeSysctls } = config;
  const { workers, components: podWork } = assembleWorkers({
    desired: allocated,
    observed,
    pleg,
    runtime,
    policy: {
      refusePod: (pod) => rejectPod(pod, { gates, allowedUnsafeSysctls, appArmor, kernelRelease }),
      admit: (pod, signal) => admission.admit(pod, signal),
    },
    resizes,
    metrics: metrics.work,
    lifecycles,
    events,
    probes: probeResults,
    unfinishedHooks,
    volumes: volume.manager,
    syncFrequencyMs: config.syncFrequency.ms,
    clock,
    log: component,
  });
  const wakes = reaction('pod wake-ups', [
    on(cri.connectionChanged, (up) => {
      if (up) pleg.pokeRelist();
    }),
  ]);
  const checks = [...healthChecks({ pleg, clock, relistMs, callTimeoutMs }), ...leaseChecks(node?.lease)];
  const explainer = new PodExplainer({
    desired,
    lifecycles,
    observed,
    events,
    activities: [images.manager, volume.manager, hooks, conditions],
    clock,
  });
  const serving = assembleServing({ ...input, host: edges.certs, api, ownNode, metrics: metrics.registry });
  const stats = assembleStats(input, { readers, stores, cgroups, cri, volumes: volume.stats, metrics });
  const handlers = routeHandlers({
    config,
    flags,
    gates,
    args: input.args,
    edges,
    stores: { desired, statuses, observed },
    cri,
    checks,
    explain: () => explainer.explain(),
    probeMetrics,
    stats: stats.handlers,
    verbosity: input.verbosity,
    clock,
    log,
  });
  const servers = assembleServer({
    config,
    flags,
    gates,
    nodeName,
    edges,
    checks,
    handlers,
    certificate: serving.certificate,
    api: api?.client,
    metrics: metrics.registry,
    random,
    clock,
    log: component('server'),
  });
  // Started in this order, stopped in reverse: the lease outlives all, pods arrive last.
  const components = [
    ...(api?.components ?? []),
    ...(node?.first ?? []),
    events,
    ...allocationLoops,
    metrics.resizes.follow(conditions),
    ...resources.components,
    ...objectLoops,
    ...images.components,
    unfinishedHooks,
    wakes,
    pleg,
    runtimeEvents,
    probes,
    status,
    ...volume.components,
    ...(resizes === undefined ? [] : [resizes]),
    ...podWork,
    new MemoryTrimmer({ desired, trim: edges.giveBackMemory, clock }),
    // The ports are open before the node reports Ready.
    ...serving.components,
    ...stats.components,
    ...servers,
    ...(node?.components ?? []),
    ...assembleSources(input, stores),
    ...(node === undefined ? [] : [node.source]),
  ];
  const close = (): void => {
    cri.close();
    api?.close();
    cgroups?.close();
  };
  return { components, stores, workers, events, explain: () => explainer.explain(), checks, close };
}
