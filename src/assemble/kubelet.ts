// The composition root: the only file besides main.ts that knows everyone. It reads as the architecture:
// stores first, then edges, then the loops over them; nothing is started here.
import type { ResourceList } from '../api/k8s/types.ts';
import { amountOf, formatAmounts } from '../api/quantity/resource-amounts.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { gateSamples } from '../config/gates/feature-gates.ts';
import { restClientMetrics } from '../edge/apiserver/metrics.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { healthChecks, type NamedCheck } from '../pleg/health-checks.ts';
import { ObservedPods } from '../pleg/observed-pods.ts';
import { Pleg } from '../pleg/pleg.ts';
import { RuntimeEvents } from '../pleg/runtime-events.ts';
import { DesiredPods } from '../pods/desired-pods.ts';
import { refusePod } from '../pods/refuse-pod.ts';
import { ProbeResults } from '../probes/probe-results.ts';
import { leaseChecks } from '../server/health.ts';
import { PodStatuses } from '../status/pod-statuses.ts';
import { StatusLoop } from '../status/status-loop.ts';
import { MemoryTrimmer } from '../workers/memory-trimmer.ts';
import { PodLifecycles } from '../workers/pod-lifecycles.ts';
import type { PodWorkers } from '../workers/pod-workers.ts';
import { assembleAdmission, nodeRefusal } from './admission.ts';
import { assembleAllocation } from './allocation.ts';
import { assembleServing } from './certs.ts';
import { assembleCluster } from './cluster.ts';
import { eventPost } from './cluster-api.ts';
import { assembleEvents } from './events.ts';
import { explainPods } from './explain.ts';
import { routeHandlers } from './handlers.ts';
import { assembleImages } from './images.ts';
import type { AssembleInput } from './input.ts';
import { podObjects } from './objects.ts';
import { assembleProbes } from './probes.ts';
import { assembleResources } from './resources.ts';
import { assembleRuntime } from './runtime.ts';
import { assembleServer } from './server.ts';
import { podSources, sourceNames } from './sources.ts';
import { assembleStats } from './stats.ts';
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
  readonly stores: {
    readonly desired: DesiredPods;
    readonly observed: ObservedPods;
    readonly lifecycles: PodLifecycles;
    readonly statuses: PodStatuses;
    readonly probeResults: ProbeResults;
  };
  /** What was last said about pods and the node. */
  readonly events: Pick<EventRecorder, 'recent'>;
  /** Where every pod is and what it waits for. */
  readonly explain: () => ReturnType<typeof explainPods>;
  /** For who ends pods from inside the process. */
  readonly workers: Pick<PodWorkers, 'kill'>;
  /** What the health port tells, for who watches from inside the process. */
  readonly checks: readonly NamedCheck[];
  /** Lets go of the connections, when every component has stopped. */
  close(): void;
}

export function assemble(input: AssembleInput): Kubelet {
  const { clock, config, edges, log, nodeName } = input;
  const restartRules = input.gates.ContainerRestartRules;

  // ── stores ──
  const desired = new DesiredPods({ sources: sourceNames(config, input.cluster !== undefined) });
  const observed = new ObservedPods();
  const lifecycles = new PodLifecycles();
  const statuses = new PodStatuses();
  const probeResults = new ProbeResults();

  // ── edges ──
  const metrics = new KubeletMetrics({ desired, observed, gates: gateSamples(input.gates), nodeName, clock });
  const api = input.cluster?.(restClientMetrics(metrics.registry), metrics.registry);
  const cri = edges.cri({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint,
    requestTimeoutMs: config.runtimeRequestTimeout.ms,
    observe: (observation) => metrics.observeRuntime(observation),
  });

  // ── loops ──
  const component = (name: string): Logger => log.with({ component: name });
  const events = assembleEvents({
    post: api && eventPost(api.client),
    config,
    nodeName,
    random: input.random,
    clock,
    log,
  });
  const { objects, components: objectLoops } = podObjects({
    ...input,
    cluster: api,
    ownNode: () => cluster?.ownNode.get(),
    desired,
    lifecycles,
  });
  const { hugePageSizes } = input.machine;
  const cgroups = timedCgroups(
    edges.cgroups({ driver: config.cgroupDriver, pageSizes: hugePageSizes }),
    metrics.work,
    clock,
  );
  const allocation = assembleAllocation({
    ...input,
    rootDir: input.flags.rootDir,
    desired,
    files: edges.stateFiles,
    metrics: metrics.resizes,
    log: component,
  });
  allocation.topology.follow(lifecycles);
  // Pods as they were allocated, which is how they are run, counted and told.
  const { wanted } = allocation;
  const resources = assembleResources({
    ...input,
    hugePageSizes,
    cgroups,
    processes: edges.systemProcesses(hugePageSizes),
    ownPid: process.pid,
    kernelLog: edges.kernelLog,
    desired: wanted,
    lifecycles,
    events,
  });
  const allocatable = (): ResourceList => formatAmounts(resources.allocatable());
  const hostIps = (): readonly string[] => cluster?.hostIPs() ?? input.machine.addresses;
  const images = assembleImages({
    config,
    flags: input.flags,
    gates: input.gates,
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
    rootDir: input.flags.rootDir,
    syncFrequencyMs: config.syncFrequency.ms,
    statsPeriodMs: config.volumeStatsAggPeriod.ms,
    lifecycles,
    gates: input.gates,
    random: input.random,
    metrics: metrics.volumes,
    host: edges.volumes,
    objects,
    events,
    cri,
    images: images.manager,
    allocatable,
    clock,
    log: component('volumes'),
  });
  const { runtime, hooks, unfinishedHooks } = assembleRuntime({
    capacity: input.capacity,
    config,
    flags: input.flags,
    gates: input.gates,
    machine: input.machine,
    edges,
    cri,
    images: timedImages(images.manager, metrics.podStarts),
    cgroups: resources.pods,
    events,
    objects,
    volumes: volume.manager,
    probes: probeResults,
    resizes: allocation.runtime,
    starts: metrics.starts,
    allocatable,
    mostMemoryBytes: () => amountOf(resources.mostForPods(), 'memory').value(),
    hostIps,
    observed,
    clock,
    log: component('runtime'),
  });
  // A container is up once its postStart hook has succeeded: until then it is neither reported as running nor probed.
  const reported = unfinishedHooks.reported(observed);
  const pleg = new Pleg({
    runtime: cri,
    node: { files: edges.tails, wasOomKilled: (containerId) => resources.wasOomKilled(containerId) },
    observed,
    clock,
    log: component('pleg'),
    settings: { relistMs, callTimeoutMs },
    isBeingSynced: (uid) => workers.isBeingSynced(uid),
    onRelist: (seconds) => metrics.pleg.observeRelist(seconds),
  });
  const cluster =
    api &&
    assembleCluster({
      ...input,
      api,
      nodeIps: input.nodeIps ?? [],
      host: edges.nodeHost,
      cri,
      lastRelistAtMs: () => pleg.health().lastRelistAtMs,
      runtime: pleg,
      features: {
        resources,
        volumesInUse: () => (desired.sourcesReady() ? volume.manager.inUse() : undefined),
      },
      stores: { desired, observed, lifecycles, statuses },
      events,
      metrics: metrics.registry,
      bootedAtMs: () => stats.bootedAtMs,
    });
  cri.connectionChanged.subscribe((up) => {
    if (up) pleg.pokeRelist();
    cluster?.pokeRuntime();
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
    gates: input.gates,
    rootDir: input.flags.rootDir,
    nodeIps: hostIps,
    random: input.random,
    clock,
    log: component('probes'),
  });
  const status = new StatusLoop({
    desired: { get: (uid) => wanted.get(uid)?.pod },
    resizes: allocation.status,
    observed: { get: (uid) => reported.get(uid), isInspected: (uid) => pleg.isInspected(uid) },
    lifecycles,
    statuses,
    // differs from upstream: a node without a control plane tells its addresses too.
    node: {
      hostIPs: hostIps,
      runtimeName: () => pleg.runtimeName(),
    },
    gates: input.gates,
    probes: probeResults,
    reported: (pod) => cluster?.mirrorOf(pod)?.status,
    clock,
    log: component('status'),
  });
  cluster?.onMirrorChanged((uid) => status.mirrorAppeared(uid));
  for (const { changed } of [wanted, reported, lifecycles, probeResults, allocation.conditions])
    changed.subscribe((uid) => status.poke(uid));
  const admission = assembleAdmission({
    ...input,
    host: edges.nodeHost,
    resources,
    observed,
    statuses,
    topology: allocation.topology,
    ownNode: () => cluster?.ownNode.get(),
    kill: (uid, kill) => workers.kill(uid, kill),
    preempted: (resource) => metrics.countPreemption(resource),
    events,
  });
  const resizes = allocation.resizes({
    observed,
    lifecycles,
    statuses,
    admission,
    allocatable: () => resources.mostForPods(),
    maySwap: (pod, container) => runtime.maySwap(pod, container),
    events,
  });
  const { workers, components: podWork } = assembleWorkers({
    desired: wanted,
    observed,
    pleg,
    runtime,
    policy: {
      refusePod: (pod) =>
        refusePod(pod, { restartRules, imageVolumes: input.gates.ImageVolume, gates: input.gates }) ??
        nodeRefusal(input, pod),
      admit: async (pod, signal) => {
        const refusal = await admission.admit(pod, signal);
        if (refusal === undefined) resizes.admitted(pod);
        return refusal;
      },
    },
    resizes: resizes.workers,
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
  const checks = [...healthChecks({ pleg, clock, relistMs, callTimeoutMs }), ...leaseChecks(cluster)];
  const activities = [images.manager, volume.manager, hooks, allocation];
  const explain = (): ReturnType<typeof explainPods> =>
    explainPods({ desired, lifecycles, observed, events, clock, activities });
  const serving = assembleServing({
    ...input,
    host: edges.certs,
    api,
    ownNode: cluster?.ownNode,
    metrics: metrics.registry,
  });
  const stats = assembleStats({
    ...input,
    cgroups,
    cri,
    stores: { desired, observed, lifecycles, statuses },
    volumes: volume.stats,
    metrics,
    log: component('stats'),
  });
  const handlers = routeHandlers({
    config,
    flags: input.flags,
    gates: input.gates,
    args: input.args,
    edges,
    stores: { desired, statuses, observed },
    cri,
    checks,
    explain,
    probeMetrics,
    stats: stats.handlers,
    verbosity: input.verbosity,
    clock,
    log,
  });
  const servers = assembleServer({
    config,
    flags: input.flags,
    gates: input.gates,
    nodeName,
    edges,
    checks,
    handlers,
    certificate: serving.certificate,
    api: api?.client,
    metrics: metrics.registry,
    random: input.random,
    clock,
    log: component('server'),
  });
  // Pods arrive last: who works on them is there by then.
  const components = [
    ...(api?.components ?? []),
    ...(cluster?.first ?? []),
    events,
    ...allocation.stores,
    ...resources.components,
    ...objectLoops,
    ...images.components,
    unfinishedHooks,
    pleg,
    runtimeEvents,
    probes,
    status,
    ...volume.components,
    ...resizes.components,
    ...podWork,
    new MemoryTrimmer({ desired, trim: edges.giveBackMemory, clock }),
    // A node that says Ready can be reached.
    ...serving.components,
    ...stats.components,
    ...servers,
    ...(cluster?.node ?? []),
    ...podSources(input, desired),
    ...(cluster === undefined ? [] : [cluster.source]),
  ];
  const stores = { desired, observed, lifecycles, statuses, probeResults };
  const close = (): void => {
    cri.close();
    api?.close();
    cgroups?.close();
  };
  return { components, stores, workers, events, explain, checks, close };
}
