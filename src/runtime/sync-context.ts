// The state that the executors of one sync of a pod share.
import type {
  ImageSpec,
  Mount,
  PodSandboxConfig,
  PodSandboxStatus,
} from '../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../api/cri/runtime.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { FoundImage } from './runtime-deps.ts';
import type { ResolverSettings } from './sandbox/resolv-conf.ts';
import type { StartSlot } from './start-slot.ts';

/** What was looked up and created for a container before its sandbox was ready. */
export interface PreparedContainer {
  /** Undefined: the image has to be pulled. */
  readonly image: FoundImage | undefined;
  readonly restartCount: number;
  /** The mount of the termination message file; empty when the container has none. */
  readonly message: readonly CriRequest<Mount>[];
}

/** The image of a volume, or why it is missing. */
export type ImageVolume = { readonly spec: CriRequest<ImageSpec> } | { readonly err: unknown };

export interface SyncContext {
  readonly pod: Pod;
  readonly seen: ObservedPod | undefined;
  readonly startSlot: StartSlot;
  readonly signal: AbortSignal;
  readonly onSandboxReady: (() => void) | undefined;
  /** The content of the node's resolv.conf; undefined when none is configured. */
  readonly resolver: ResolverSettings | undefined;
  /** The request for the sandbox's addresses; made by the first container that needs them. */
  addresses?: Promise<readonly string[]>;
  sandbox: { readonly id: string; readonly config: CriRequest<PodSandboxConfig> } | undefined;
  /** Names of the containers that this sync starts. */
  readonly starting: readonly string[];
  /** The ID of the sandbox that this sync created. */
  createdSandbox?: string;
  /** The IDs of the containers that this sync created. */
  readonly containerIds: string[];
  /** The sandbox's status, if its addresses were read. */
  sandboxStatus?: PodSandboxStatus;
  /** This sync created the pod's log directory, so no log of an earlier container exists. */
  logsAreNew: boolean;
  /** By container name; filled while the sandbox is being created. */
  readonly prepared: Map<string, Promise<PreparedContainer>>;
  /** By volume name; requested by the first container that is created. */
  imageVolumes?: Promise<ReadonlyMap<string, ImageVolume>>;
  readonly waiting: Record<string, WaitingReason>;
  readonly retries: number[];
  /** Whether the sync changed anything on the runtime. */
  acted: boolean;
  /** Running containers may have other resources than before. */
  resized: boolean;
  resizeFailure: string | undefined;
  failure: unknown;
}
