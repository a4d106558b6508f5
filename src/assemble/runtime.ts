// PodRuntime, which applies a pod's actions to the CRI, with its inputs and records.
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { StartStages } from '../api/ports/start-stages.ts';
import { InFlight } from '../base/in-flight.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { timedImages } from '../metrics/timed-calls.ts';
import type { HostIps } from '../node/host-ips.ts';
import type { NodeBudget } from '../resources/allocatable/node-budget.ts';
import type { Allocations } from '../resources/allocation/allocations.ts';
import { actuatedResizes } from '../resources/allocation/resize-views.ts';
import type { PodCgroups } from '../resources/cgroups/pod-cgroups.ts';
import { UnfinishedHooks } from '../runtime/container/unfinished-hooks.ts';
import { CrashBackoff, crashLimits } from '../runtime/decide/crash-backoff.ts';
import { PodRuntime } from '../runtime/pod-runtime.ts';
import type { PodInputs, PodRuntimeDeps, RuntimeReports } from '../runtime/runtime-deps.ts';
import { podConfigSettings } from '../runtime/sandbox/pod-config-settings.ts';
import { UserNamespaces } from '../runtime/sandbox/user-namespaces.ts';
import { startSlots } from '../runtime/start-slots.ts';
import { garbagePolicy } from '../runtime/stop/compute-garbage.ts';
import { RefusedRemovals } from '../runtime/stop/refused-removals.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface RuntimeRooms {
  readonly cri: PodRuntimeDeps['cri'];
  readonly images: PodInputs['images'];
  readonly objects: PodInputs['objects'];
  readonly volumes: PodInputs['volumes'];
  readonly stores: SharedStores;
  readonly allocations: Allocations;
  /** Undefined if pods have no cgroups of their own. */
  readonly cgroups: PodCgroups | undefined;
  readonly exclusive: PodInputs['exclusive'];
  readonly budget: NodeBudget;
  readonly hostIps: HostIps;
  /** Undefined if logs are not rotated. */
  readonly logRotation: PodRuntimeDeps['node']['logRotation'];
  readonly metrics: KubeletMetrics;
  readonly events: RuntimeReports['events'];
  readonly stages: StartStages;
}

interface RuntimeRoom {
  readonly runtime: PodRuntime;
  /** Hooks in flight per pod, for /explain. */
  readonly hooks: InFlight<PodActivity>;
  readonly unfinishedHooks: UnfinishedHooks;
}

export function assembleRuntime(
  input: Pick<
    AssembleInput,
    'capacity' | 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'machine'
  >,
  rooms: RuntimeRooms,
): RuntimeRoom {
  const { capacity, clock, config, edges, flags, gates, machine } = input;
  const { allocations, budget, cgroups, cri, events, exclusive, hostIps, images, logRotation } = rooms;
  const { metrics, objects, stores, volumes } = rooms;
  const log = input.log.with({ component: 'runtime' });
  const hooks = new InFlight<PodActivity>();
  const unfinishedHooks = new UnfinishedHooks({ files: edges.files, rootDir: flags.rootDir, log });
  const userNamespaces = new UserNamespaces({
    cri,
    files: edges.files,
    rootDir: flags.rootDir,
    enabled: gates.UserNamespacesSupport,
    idsPerPod: config.userNamespaces?.idsPerPod,
    get maxPods() {
      return config.maxPods;
    },
    idRange: edges.idRange,
  });
  const settings = podConfigSettings({
    config,
    flags,
    machine,
    gates,
    hostIps: () => hostIps.current(),
    allocatable: () => budget.allocatableList(),
    maxMemoryBytes: () => budget.maxMemoryBytes(),
    cgroups,
    exclusive,
  });
  const runtime = new PodRuntime({
    cri,
    node: {
      settings,
      files: edges.files,
      logRotation,
      cgroups,
      startSlots: startSlots(clock, capacity.cpus),
    },
    inputs: { images: timedImages(images, metrics.podStarts), objects, volumes, userNamespaces, exclusive },
    records: {
      crashBackoff: new CrashBackoff(clock, crashLimits(config, gates)),
      refusedRemovals: new RefusedRemovals({ clock, log }),
      unfinishedHooks,
      resizes: gates.InPlacePodVerticalScaling
        ? actuatedResizes(allocations, metrics.resizes, {
            podLevel: gates.InPlacePodLevelResourcesVerticalScaling,
          })
        : undefined,
    },
    policy: {
      probes: stores.probeResults,
      containerRestartRules: gates.ContainerRestartRules,
      restartAllContainers: gates.RestartAllContainersOnContainerExits,
      garbage: garbagePolicy(flags),
      observed: stores.observed,
    },
    hooks: { http: edges.hookHttp, running: hooks, metrics: metrics.work.hooks },
    report: { events, starts: metrics.starts, stages: rooms.stages, log },
    clock,
  });
  return { runtime, hooks, unfinishedHooks };
}
