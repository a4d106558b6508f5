// What PodRuntime depends on, grouped by meaning. Each helper of the sync takes only the groups it uses.
import type { PodSandboxConfig } from '../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest, CriRuntime } from '../api/cri/runtime.ts';
import type { Container, Pod, ResourceRequirements } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodVolumes } from '../api/pod/pod-volumes.ts';
import type { CgroupSettings } from '../api/ports/cgroups.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { ExclusiveResources } from '../api/ports/exclusive-resources.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { ProbeResultsView } from '../api/ports/probe-results.ts';
import type { StartStages } from '../api/ports/start-stages.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Slots } from '../base/slots.ts';
import type { HookRunner } from './container/hooks.ts';
import type { ImageUser, PodUserNamespace } from './container/security-context.ts';
import type { UnfinishedHooks } from './container/unfinished-hooks.ts';
import type { CrashBackoff } from './decide/crash-backoff.ts';
import type { PodConfigSettings } from './sandbox/sandbox-config.ts';
import type { GarbagePolicy } from './stop/compute-garbage.ts';
import type { RefusedRemovals } from './stop/refused-removals.ts';

/** An image that is present on the node: its reference in the runtime, and its user. */
export type FoundImage = ImageUser & { readonly ref: string };

interface RuntimeImages {
  /** `requester`: the pod that gets the event of a failure, and the container whose pull policy applies. */
  find(
    image: string,
    signal: AbortSignal,
    requester?: { readonly pod: Pod; readonly container: Container },
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
  /** Drops the back-offs of a pod that was removed. */
  forget(uid: string): void;
}

export interface RuntimeFiles {
  /** Creates the directory and its missing parents. True when the directory did not exist. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  readText(path: string): Promise<string>;
  /** Undefined when the file does not exist. */
  readTextIfAny(path: string): Promise<string | undefined>;
  /**
   * Writes the file, and creates it and its directory if needed. A file with other content is overwritten in place, because
   * its inode may be mounted. The mode is set as given, regardless of the umask.
   */
  writeText(path: string, text: string, mode: number): Promise<void>;
  /** Creates a symbolic link, replacing an existing one. */
  link(target: string, path: string): Promise<void>;
  /** Removes one file or link if it exists. With `below`, no directory between that one and the file may be a link. */
  removeFile(path: string, below?: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Whether the path is a symbolic link whose target does not exist. */
  isDanglingLink(path: string): Promise<boolean>;
  /** At most `most` names in a directory; empty when it does not exist. Without `most`, a very large directory is an error. */
  listNames(path: string, most?: number): Promise<readonly string[]>;
  /** Removes a directory and its content if it exists, without following links. */
  removeTree(path: string): Promise<void>;
}

export type PodAmounts = Pick<
  CgroupSettings,
  'cpuShares' | 'cpuQuotaUs' | 'cpuPeriodUs' | 'memoryLimitBytes' | 'unified'
>;

/** The cgroups of pods. */
interface RuntimeCgroups {
  readonly version: 1 | 2;
  /** Creates the pod's cgroup, or updates it to the pod's spec. Called before the sandbox is created. */
  ensure(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The limits that the spec requests; a missing value means that the spec sets none. */
  desiredAmounts(pod: Pod): PodAmounts;
  /** The limits that the kernel enforces now; -1 or a very large number means none. */
  amounts(pod: Pod): Promise<PodAmounts>;
  set(pod: Pod, settings: CgroupSettings): Promise<void>;
  memoryUsageBytes(pod: Pod): Promise<bigint>;
  /** Removes the pod's cgroup from every hierarchy, if it exists. */
  removePod(uid: string): Promise<void>;
  /** UIDs of pods that have a cgroup. */
  podsWithCgroups(): Promise<ReadonlySet<string>>;
  /** Kills the processes in a container's own cgroup, if it exists. */
  killContainer(uid: string, containerId: string): Promise<void>;
}

/** The resources that containers were last given, for in-place resize. */
export interface RuntimeResizes {
  /** Whether pod-level resources are resized in place. */
  readonly podLevel: boolean;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  /** The pod-level resources of the pod's cgroup: null for none, undefined if unknown. */
  actuatedPodLevel(uid: PodUid): ResourceRequirements | null | undefined;
  /** The container is created, or was updated, with these resources. */
  actuate(uid: PodUid, container: string, resources: ResourceRequirements): void;
  /** The pod's cgroup was updated to these pod-level resources. */
  actuatePodLevel(uid: PodUid, resources: ResourceRequirements | undefined): void;
  /** The pod's cgroup was created for this spec. */
  actuateNew(pod: Pod): void;
  /** Resolves when the allocated and actuated resources are checkpointed on disk. */
  saved(): Promise<void>;
  /** Records the duration of a resize. */
  took(ms: number, success: boolean): void;
}

interface PodUserNamespaces {
  /** The pod's user namespace. `handler`: the runtime handler of the pod's RuntimeClass. */
  of(pod: Pod, handler: string, signal: AbortSignal): Promise<PodUserNamespace>;
  /** Frees the pod's ID range. Called after the pod's directory was removed. */
  release(uid: string): void;
}

/** Counts attempted and failed starts. */
interface StartCounts {
  pod(hasUserNamespace: boolean): void;
  podFailed(hasUserNamespace: boolean): void;
  /** `kind`: container, init_container or ephemeral_container; `code`: the waiting reason. */
  container(kind: string): void;
  containerFailed(kind: string, code: string): void;
  /** The image volumes that a container mounts. `outcome`: undefined if its creation failed for another reason. */
  imageVolumes(count: number, outcome: 'mounted' | 'failed' | undefined): void;
}

/** The node that the pods run on. */
export interface RuntimeNode {
  readonly settings: PodConfigSettings;
  readonly files: RuntimeFiles;
  /** Undefined: pods have no cgroups of their own. */
  readonly cgroups?: RuntimeCgroups | undefined;
  /** Bounds the number of pods that start at once. */
  readonly startSlots: Slots;
  /** Undefined if logs are not rotated. */
  readonly logRotation?: { release(path: string): Promise<void> } | undefined;
}

/** What a pod's sandbox and containers are made from. */
export interface PodInputs {
  readonly images: RuntimeImages;
  /** ConfigMaps, Secrets, Services and RuntimeClasses that pods refer to. */
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly userNamespaces: PodUserNamespaces;
  /** CPUs, memory and devices that containers have for themselves. */
  readonly exclusive: ExclusiveResources;
}

/** What the kubelet remembers of containers between two syncs. */
export interface ContainerRecords {
  readonly crashBackoff: CrashBackoff;
  readonly refusedRemovals: RefusedRemovals;
  readonly unfinishedHooks: UnfinishedHooks;
  /** Undefined: in-place resize is disabled. */
  readonly resizes?: RuntimeResizes | undefined;
}

/** What the deciders read beside the pod and its observed state. */
export interface RuntimePolicy {
  readonly probes: Pick<ProbeResultsView, 'get'>;
  /** Feature gate ContainerRestartRules: containers may have restart policies and rules of their own. */
  readonly containerRestartRules: boolean;
  /** Feature gate RestartAllContainersOnContainerExits. */
  readonly restartAllContainers: boolean;
  readonly garbage: GarbagePolicy;
  /** All pods of the node, for the node-wide limit on dead containers. */
  readonly observed: { all(): ReadonlyMap<unknown, ObservedPod> };
}

/** Where outcomes are reported. */
export interface RuntimeReports {
  readonly events: EventSink;
  readonly starts?: StartCounts | undefined;
  readonly stages?: StartStages | undefined;
  readonly log: Logger;
}

export interface PodRuntimeDeps {
  readonly cri: CriRuntime;
  readonly node: RuntimeNode;
  readonly inputs: PodInputs;
  readonly records: ContainerRecords;
  readonly policy: RuntimePolicy;
  readonly hooks: HookRunner;
  readonly report: RuntimeReports;
  readonly clock: Clock;
}
