// What one sync of a pod works with: the edges it calls and the state its executors share.

import type { Mount, PodSandboxConfig, PodSandboxStatus } from '../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest, CriRuntime } from '../api/cri/runtime.ts';
import type { Container, Pod, ResourceRequirements } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodVolumes } from '../api/pod/pod-volumes.ts';
import type { CgroupSettings } from '../api/ports/cgroups.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { ProbeResultsView } from '../api/ports/probe-results.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Ongoing } from '../base/ongoing.ts';
import type { Slots } from '../base/slots.ts';
import type { HookHttp } from './container/hooks.ts';
import type { ImageUser, Users } from './container/security-context.ts';
import type { UnfinishedHooks } from './container/unfinished-hooks.ts';
import type { CrashBackoff } from './decide/crash-backoff.ts';
import type { ResolverSettings } from './sandbox/resolv-conf.ts';
import type { PodConfigSettings } from './sandbox/sandbox-config.ts';
import type { StartSlot } from './start-slot.ts';
import type { GarbagePolicy } from './stop/garbage.ts';
import type { Refusals } from './stop/refusals.ts';

/** An image that is on the node: what the runtime calls it, and its user. */
export type FoundImage = ImageUser & { readonly ref: string };

export interface RuntimeImages {
  /** `asker`: whose events tell a failure, and whose policy says whether it matters that the image is there. */
  find(
    image: string,
    signal: AbortSignal,
    asker?: { readonly pod: Pod; readonly container: Container },
  ): Promise<FoundImage | undefined>;
  ensure(
    request: {
      readonly pod: Pod;
      readonly container: Container;
      readonly sandboxConfig: CriRequest<PodSandboxConfig>;
    },
    found: FoundImage | undefined,
    signal: AbortSignal,
  ): Promise<FoundImage>;
  retryInMs(pod: Pod, container: Container): number | undefined;
  /** Forgets what was kept for a pod that has gone. */
  forget(uid: string): void;
}

export interface RuntimeFiles {
  /** With what is missing above it. Whether it was made just now. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  /** A text file as it is now. */
  readText(path: string): Promise<string>;
  /** Undefined when there is no such file. */
  readTextIfAny(path: string): Promise<string | undefined>;
  /**
   * Makes the file and its directory, or replaces what is in it unless that is right already, keeping its inode: it may be mounted. The mode
   * is as given, whatever the umask.
   */
  writeText(path: string, text: string, mode: number): Promise<void>;
  /** Makes a symbolic link, in place of one that is there. */
  link(target: string, path: string): Promise<void>;
  /** Removes one file or link; nothing there is fine. With `below`, no directory between that one and the file may be a link. */
  removeFile(path: string, below?: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Names in a directory, at most so many; empty when there is none. Without `most`, an error when there are very many. */
  listNames(path: string, most?: number): Promise<readonly string[]>;
  /** Removes a directory and what is in it, without following links; nothing there is fine. */
  removeTree(path: string): Promise<void>;
}

export interface RuntimeCgroups {
  /** Removes the pod's cgroup from every hierarchy; nothing there is fine. */
  removePod(uid: string): Promise<void>;
  /** UIDs of pods that have one. */
  podsWithCgroups(): Promise<ReadonlySet<string>>;
  /** Kills what runs in a container's own cgroup; nothing there is fine. */
  killContainer(uid: string, containerId: string): Promise<void>;
}

/** The pod's own cgroup, for who gives it limits of its own. */
interface PodCgroups {
  /** Made, or brought to the pod's spec, before its sandbox is. */
  ensure(pod: Pod, signal: AbortSignal): Promise<void>;
  /** What it is to have by its spec; what is not said is not limited by it. */
  wanted(pod: Pod): PodAmounts;
  /** What the kernel holds it to now; -1: not at all. */
  amounts(pod: Pod): Promise<PodAmounts>;
  set(pod: Pod, settings: CgroupSettings): Promise<void>;
  memoryUsageBytes(pod: Pod): Promise<bigint>;
}

export type PodAmounts = Pick<
  CgroupSettings,
  'cpuShares' | 'cpuQuotaUs' | 'cpuPeriodUs' | 'memoryLimitBytes'
>;

/** What containers were given, for who resizes them. */
export interface RuntimeResizes {
  /** Whether this pod's containers may be resized while they run. */
  allowed(pod: Pod): boolean;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  /** The container is made, or was updated, with these. */
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void;
  /** Resolves when what pods were allocated and given would survive a kill. */
  saved(): Promise<void>;
  /** How long a resize took. */
  took(ms: number, success: boolean): void;
}

interface PodUsers {
  /** Whose users the pod's processes are. `handler`: of the pod's runtime class. */
  of(pod: Pod, handler: string, signal: AbortSignal): Promise<Users>;
  /** The pod and its directory have gone. */
  release(uid: string): void;
}

/** How often starts were tried and failed. */
interface StartCounts {
  pod(ownUsers: boolean): void;
  podFailed(ownUsers: boolean): void;
  /** `kind`: container, init_container or ephemeral_container; `code`: the waiting reason. */
  container(kind: string): void;
  containerFailed(kind: string, code: string): void;
}

export interface PodRuntimeDeps {
  /** What runs for a pod, for who explains it. */
  readonly activities: Ongoing<PodActivity>;
  readonly cri: CriRuntime;
  readonly images: RuntimeImages;
  readonly files: RuntimeFiles;
  readonly cgroups: RuntimeCgroups;
  readonly events: EventSink;
  /** Config maps, secrets, services and runtime classes that pods refer to. */
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly probes: Pick<ProbeResultsView, 'get'>;
  readonly podCgroups?: PodCgroups | undefined;
  /** Absent: pods have what they ask for, and keep it. */
  readonly resizes?: RuntimeResizes | undefined;
  readonly hookHttp: HookHttp;
  readonly unfinishedHooks: UnfinishedHooks;
  readonly userNamespaces: PodUsers;
  readonly starts?: StartCounts | undefined;
  readonly slots: Slots;
  readonly refusals: Refusals;
  readonly backoff: CrashBackoff;
  readonly settings: PodConfigSettings;
  readonly garbagePolicy?: GarbagePolicy;
  /** What the runtime holds of all pods, where dead containers are counted over the whole node. */
  readonly observed?: { all(): ReadonlyMap<unknown, ObservedPod> };
  /** Feature gate ContainerRestartRules: containers may have restart policies and rules of their own. */
  readonly containerRestartRules: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PreparedContainer {
  /** Undefined: it has to be pulled. */
  readonly image: FoundImage | undefined;
  readonly restartCount: number;
  /** The file for its last words. */
  readonly message: readonly CriRequest<Mount>[];
}

/** One sync under way: what the executors of single actions share. */
export interface SyncContext {
  readonly pod: Pod;
  readonly seen: ObservedPod | undefined;
  /** Its place among the pods that start; who came first is served first. */
  readonly place: StartSlot;
  readonly signal: AbortSignal;
  /** What the node's resolver file says; undefined when there is none. */
  readonly resolver: ResolverSettings | undefined;
  /** What the sandbox was last asked for; set by the first container that needs it. */
  addresses?: Promise<readonly string[]>;
  sandbox: { readonly id: string; readonly config: CriRequest<PodSandboxConfig> } | undefined;
  /** Names of the containers this pass is to start. */
  readonly starting: readonly string[];
  /** Made in this pass. */
  madeSandbox?: string;
  readonly containerIds: string[];
  /** As the runtime told it when its addresses were asked for. */
  sandboxStatus?: PodSandboxStatus;
  /** The directory of its logs was made in this pass: no log of an earlier container can be there. */
  logsAreNew: boolean;
  /** By container name: what was looked up while the sandbox was being made. */
  readonly prepared: Map<string, Promise<PreparedContainer>>;
  readonly waiting: Record<string, WaitingReason>;
  readonly retries: number[];
  /** Whether the runtime was asked to change anything. */
  acted: boolean;
  /** Running containers may have other amounts than before. */
  resized: boolean;
  resizeFailure: string | undefined;
  failure: unknown;
}
