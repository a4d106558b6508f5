// The room of the runtime: what it takes to carry out on the CRI what was decided for a pod.
import { availableParallelism } from 'node:os';
import type { ResourceList } from '../api/k8s/types.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { Ongoing } from '../base/ongoing.ts';
import { Slots } from '../base/slots.ts';
import type { PodCgroups } from '../resources/cgroups/pod-cgroups.ts';
import { UnfinishedHooks } from '../runtime/container/unfinished-hooks.ts';
import { PodRuntime } from '../runtime/pod-runtime.ts';
import { podConfigSettings } from '../runtime/sandbox/pod-config-settings.ts';
import { UserNamespaces } from '../runtime/sandbox/user-namespaces.ts';
import { Refusals } from '../runtime/stop/refusals.ts';
import type { PodRuntimeDeps, RuntimeCgroups } from '../runtime/sync-context.ts';
import type { AssembleInput } from './input.ts';
import { crashBackoff, garbagePolicy } from './workers.ts';

interface RuntimeInput
  extends Pick<AssembleInput, 'config' | 'flags' | 'gates' | 'machine'>,
    Pick<
      PodRuntimeDeps,
      | 'cri'
      | 'images'
      | 'events'
      | 'objects'
      | 'volumes'
      | 'probes'
      | 'resizes'
      | 'starts'
      | 'observed'
      | 'clock'
      | 'log'
    > {
  readonly edges: Pick<AssembleInput['edges'], 'files' | 'hookHttp' | 'idRange'>;
  /** Undefined: pods have no cgroups of their own. */
  readonly pods: PodCgroups | undefined;
  readonly allocatable: () => ResourceList;
  readonly mostMemoryBytes: () => bigint;
  readonly hostIps: () => readonly string[];
}

/** A start that hangs this long no longer keeps others from starting. */
const startLeaseMs = 10_000;

/** Where pods have no cgroup of their own, there is none to remove. */
const noCgroups: RuntimeCgroups = {
  removePod: async () => undefined,
  podsWithCgroups: async () => new Set(),
  killContainer: async () => undefined,
};

/**
 * Pods that start at once. More make the first pod of a burst wait for the last, fewer leave processors idle while calls wait
 * for the disk. Those that begin together end together, so a burst comes in waves of this many; on two processors half of
 * twenty end with a wave (docs/decisions/0008).
 */
export function parallelStarts(): number {
  return availableParallelism() * 2 + 1;
}

export function assembleRuntime(input: RuntimeInput): {
  readonly runtime: PodRuntime;
  /** Hooks that run now, for who explains what a pod waits for. */
  readonly hooks: Ongoing<PodActivity>;
  readonly unfinishedHooks: UnfinishedHooks;
} {
  const { clock, config, edges, flags, gates, pods } = input;
  const hooks = new Ongoing<PodActivity>();
  const unfinishedHooks = new UnfinishedHooks({ files: edges.files, rootDir: flags.rootDir, log: input.log });
  const runtime = new PodRuntime({
    ...input,
    activities: hooks,
    files: edges.files,
    cgroups: pods ?? noCgroups,
    podCgroups: pods,
    hookHttp: edges.hookHttp,
    unfinishedHooks,
    userNamespaces: new UserNamespaces({
      cri: input.cri,
      files: edges.files,
      rootDir: flags.rootDir,
      enabled: gates.UserNamespacesSupport,
      idsPerPod: config.userNamespaces?.idsPerPod ?? 65_536,
      maxPods: config.maxPods,
      idRange: edges.idRange,
    }),
    slots: new Slots({ clock, count: parallelStarts(), leaseMs: startLeaseMs }),
    refusals: new Refusals(input),
    backoff: crashBackoff(input),
    settings: podConfigSettings({ ...input, cgroupParent: (pod) => pods?.parentOf(pod) ?? '' }),
    garbagePolicy: garbagePolicy(flags),
    containerRestartRules: gates.ContainerRestartRules,
  });
  return { runtime, hooks, unfinishedHooks };
}
