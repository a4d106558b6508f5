// Plugs the CRI, the node and the inputs of pods into PodRuntime.
import type { ResourceList } from '../api/k8s/types.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { InFlight } from '../base/in-flight.ts';
import type { PodCgroups } from '../resources/cgroups/pod-cgroups.ts';
import { UnfinishedHooks } from '../runtime/container/unfinished-hooks.ts';
import { CrashBackoff, crashLimits } from '../runtime/decide/crash-backoff.ts';
import { PodRuntime } from '../runtime/pod-runtime.ts';
import type {
  ContainerRecords,
  PodInputs,
  PodRuntimeDeps,
  RuntimePolicy,
  RuntimeReports,
} from '../runtime/runtime-deps.ts';
import { podConfigSettings } from '../runtime/sandbox/pod-config-settings.ts';
import { UserNamespaces } from '../runtime/sandbox/user-namespaces.ts';
import { startSlots } from '../runtime/start-slots.ts';
import { garbagePolicy } from '../runtime/stop/garbage.ts';
import { RefusedRemovals } from '../runtime/stop/refused-removals.ts';
import type { AssembleInput } from './input.ts';

interface RuntimeInput
  extends Pick<AssembleInput, 'capacity' | 'config' | 'flags' | 'gates' | 'machine'>,
    Pick<PodRuntimeDeps, 'cri' | 'clock'>,
    Pick<PodInputs, 'images' | 'objects' | 'volumes'>,
    Pick<ContainerRecords, 'resizes'>,
    Pick<RuntimePolicy, 'observed' | 'probes'>,
    RuntimeReports {
  readonly edges: Pick<AssembleInput['edges'], 'files' | 'hookHttp' | 'idRange'>;
  /** Undefined: pods have no cgroups of their own. */
  readonly cgroups: PodCgroups | undefined;
  readonly allocatable: () => ResourceList;
  readonly mostMemoryBytes: () => bigint;
  readonly hostIps: () => readonly string[];
}

interface RuntimeRoom {
  readonly runtime: PodRuntime;
  /** Hooks in flight per pod, for /explain. */
  readonly hooks: InFlight<PodActivity>;
  readonly unfinishedHooks: UnfinishedHooks;
}

export function assembleRuntime(input: RuntimeInput): RuntimeRoom {
  const { allocatable, cgroups, clock, config, cri, edges, flags, gates, hostIps, log, machine } = input;
  const hooks = new InFlight<PodActivity>();
  const unfinishedHooks = new UnfinishedHooks({ files: edges.files, rootDir: flags.rootDir, log });
  const userNamespaces = new UserNamespaces({
    cri,
    files: edges.files,
    rootDir: flags.rootDir,
    enabled: gates.UserNamespacesSupport,
    idsPerPod: config.userNamespaces?.idsPerPod,
    maxPods: config.maxPods,
    idRange: edges.idRange,
  });
  const settings = podConfigSettings({
    config,
    flags,
    machine,
    gates,
    hostIps,
    allocatable,
    mostMemoryBytes: input.mostMemoryBytes,
    cgroups,
  });
  const runtime = new PodRuntime({
    cri,
    node: { settings, files: edges.files, cgroups, startSlots: startSlots(clock, input.capacity.cpus) },
    inputs: { images: input.images, objects: input.objects, volumes: input.volumes, userNamespaces },
    records: {
      crashBackoff: new CrashBackoff(clock, crashLimits(config.crashLoopBackOff, gates)),
      refusedRemovals: new RefusedRemovals({ clock, log }),
      unfinishedHooks,
      resizes: input.resizes,
    },
    policy: {
      probes: input.probes,
      containerRestartRules: gates.ContainerRestartRules,
      garbage: garbagePolicy(flags),
      observed: input.observed,
    },
    hooks: { http: edges.hookHttp, running: hooks },
    report: { events: input.events, starts: input.starts, log },
    clock,
  });
  return { runtime, hooks, unfinishedHooks };
}
