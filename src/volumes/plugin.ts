// The interface of a volume plugin: which volumes it serves, how it sets them up and tears them down, how it finds them on disk
// after a restart, and what they use. Upstream: pkg/volume/plugins.go and volume.go.
// Invariants of every plugin: setUp is idempotent, completes what an earlier call left unfinished and mounts nothing twice;
// tearDown relies only on what is on disk, and never removes files through a mount.
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
  Pod,
  Volume,
} from '../api/k8s/types.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import type { DeviceMap } from '../api/ports/volume-host.ts';
import type { Subscribable } from '../base/channel.ts';

/** A volume of a pod whose claim, if any, is resolved. */
export interface VolumeSpec {
  /** Its name in the pod's spec. */
  readonly name: string;
  /** Name of its directory: the name of the persistent volume, or of the volume in the pod's spec. */
  readonly directoryName: string;
  readonly source: VolumeSource;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  /**
   * The persistent volume bound to the claim; undefined for a volume that is defined in the pod's spec. CSI migration makes one
   * of an in-tree volume of the pod's spec, which then has no claim.
   */
  readonly persistent: PersistentVolume | undefined;
  /** As read when the volume was resolved, last by the latest update. */
  readonly claim?: PersistentVolumeClaim | undefined;
  /** Whether CSI migration translated an in-tree kind. */
  readonly isMigrated?: boolean;
  /** True for volumeMode Block: containers get the device, not a directory. */
  readonly isBlock: boolean;
}

export type VolumeSource = Omit<Volume, 'name'> & Pick<PersistentVolumeSpec, 'local'>;

/** The owner of a volume's files. */
export interface VolumeOwner {
  readonly fsGroup: number | undefined;
  readonly onlyOnRootMismatch: boolean;
  /** The user that all containers run as; undefined if they differ. */
  readonly user: number | undefined;
}

export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The volume's directory. A plugin that needs none does not create it. */
  readonly path: string;
  readonly owner: VolumeOwner;
  /** Whether this kubelet process has set the volume up before, so that it probably exists. */
  readonly isRemount: boolean;
  /** Of an attached volume: the path in status.volumesAttached of the node, often empty. */
  readonly devicePath?: string | undefined;
  /** To be called when a driver is about to be called: the pod no longer counts among those that mount. */
  readonly onWait?: (() => void) | undefined;
}

/** The reason of an error of setUp(): the pod can never get the volume on this node and is rejected with the error's message. */
export const podRejected = 'VolumeAttachmentLimitExceeded';

export interface ExpandRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** What containers have: the volume's directory, or the link to its device. */
  readonly path: string;
  readonly sizeBytes: bigint;
  /** As in SetUpRequest. */
  readonly devicePath?: string | undefined;
}

/**
 * Details of the error of an expansion. `infeasible`: no size that the user requested is available; `precondition`: not on this node
 * now, no more attempts; `unsupported`: the plugin has no such operation; `final` or `uncertain` as with CSI.
 */
export type ExpandFailure = 'infeasible' | 'precondition' | 'unsupported' | 'final' | 'uncertain';

export interface ExpandFailureDetails {
  readonly expansion: ExpandFailure;
}

/** What a container mounts. */
type VolumeLocation =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'device'; readonly path: string }
  /** The runtime mounts it. */
  | { readonly kind: 'image' };

export interface SetUpVolume {
  readonly location: VolumeLocation;
  readonly readOnly: boolean;
  /** Whether the kubelet manages the files, so that the runtime may relabel them for SELinux. */
  readonly managed: boolean;
}

/** A volume's directory found on disk. */
export interface VolumeOnDisk {
  readonly uid: string;
  readonly directoryName: string;
  readonly path: string;
}

export interface VolumeStats {
  readonly usedBytes: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodesUsed: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** How a directory was measured, or the driver that did; undefined if the numbers are those of a whole file system. */
  readonly source?: string;
}

/** For plugins that support volumeMode Block. The caller creates and removes the link in the pod's directory. */
interface BlockDevices {
  /** Makes the device present on the node and returns its path. Idempotent. */
  setUp(request: SetUpRequest, signal: AbortSignal): Promise<string>;
  /** Called after the pod's link was removed; relies only on what is on disk. `path` is the path of the removed link. */
  tearDown(volume: VolumeOnDisk, signal: AbortSignal): Promise<void>;
  /** Default: the target is below the plugin's own directory. */
  map?(volume: Pick<VolumeOnDisk, 'uid' | 'directoryName'>): DeviceMap;
  /** The names of a pod's devices that are not linked in its directory yet, or no longer. Default: none. */
  findUnlinked?(uid: string): Promise<readonly string[]>;
  /** `path`: the link in the pod's directory. Default: devices are not measured. */
  stats?(path: string, signal: AbortSignal): Promise<VolumeStats | undefined>;
}

/** For plugins whose setUp creates something once per node for all pods: a staged device, a global mount. */
export interface NodeDevices {
  /** The deviceKey of a pod's volume, determined from what is on disk. */
  keyOf(volume: VolumeOnDisk): Promise<string | undefined>;
  /** The keys of all devices on this node, determined from what is on disk. */
  list(): Promise<readonly string[]>;
  /** Releases the device. The caller guarantees that no pod uses it and none is being set up. */
  release(key: string, signal: AbortSignal): Promise<void>;
  /** As VolumePlugin.attachName, for a device found on disk. Default: undefined. */
  attachName?(key: string): string | undefined;
  /** As VolumePlugin.label, for a device found on disk. Default: the plugin's name. */
  label?(key: string): string;
  /** Whether the device belongs to a block volume, for the name of its release in metrics. Default: no. */
  isBlock?(key: string): Promise<boolean>;
}

/**
 * Details of an error of setUp(): upstream's name of the step that failed, for the event. Default: SetUp, or SetUpDevice for a
 * block volume.
 */
export interface SetUpFailureDetails {
  readonly step:
    | 'MountDevice'
    | 'MapPodDevice'
    | 'MapBlockVolume'
    | 'NewMounter initialization'
    | 'WaitForAttach';
}

/** What must exist before setUp is called: the pod waits for it without backoff and holds no lock meanwhile. */
interface Prerequisite {
  /** What is missing, as `the CSI driver x to register`; undefined if nothing is. */
  missing(spec: VolumeSpec): string | undefined;
  /** Announced when something that was missing may exist. */
  readonly changed: Subscribable<unknown>;
}

/** How the attachment of a volume by the controller is going. */
export interface Attachment {
  /** Why the volume is not attached, as far as the API server knows. */
  failure(spec: VolumeSpec, signal: AbortSignal): Promise<AttachFailure | undefined>;
}

export interface AttachFailure {
  readonly message: string;
  /** The node has reached its limit of attached volumes, so that no retry on this node helps. */
  readonly isLimit: boolean;
}

export interface VolumePlugin {
  /** Upstream's name: `kubernetes.io/empty-dir`. */
  readonly name: string;
  /** Whether setUp is repeated periodically and when an API object or the pod changes. Upstream: RequiresRemount. */
  needsRefresh(spec: VolumeSpec): boolean;
  /** Whether a server stores the files. If it stops responding, any access from this process may hang. */
  readonly isRemote: boolean;
  /** Whether a persistent volume may have mount options. */
  readonly supportsMountOptions: boolean;
  /** Deadline of setUp. Infinity where it processes an unbounded number of files. */
  readonly deadlineMs: number;
  canServe(spec: VolumeSpec): boolean;
  /** Volumes with the same key are one device; operations on them run one at a time. */
  deviceKey(spec: VolumeSpec): string | undefined;
  /** The name under which controllers attach it to the node (upstream's unique volume name); undefined if it needs no attaching. */
  attachName(spec: VolumeSpec): string | undefined;
  /** The plugin's name in metrics: `kubernetes.io/csi:<driver>`. Default: its name. */
  label?(spec: VolumeSpec): string;
  /** The same for a volume found on disk. Default: its name. */
  labelOnDisk?(volume: VolumeOnDisk): Promise<string>;
  /** Absent: setUp can be called at once. */
  readonly prerequisite?: Prerequisite;
  /** Absent: no attached volumes, or nothing is known about them. */
  readonly attachment?: Attachment;
  /** Absent: the node has no part in an expansion. */
  readonly expansion?: {
    /** Whether the node has a part in the expansion of this volume. Default: yes. */
    applies?(spec: VolumeSpec): boolean;
    /** Resolves to the new size. Rejects with ExpandFailureDetails. */
    expand(request: ExpandRequest, signal: AbortSignal): Promise<bigint>;
  };
  /** The directory of its volumes in the pod's, if not that of the plugin's name: a FlexVolume belongs to its driver. */
  directoryOf?(spec: VolumeSpec): string;
  /** Whether it created the volumes of this directory, which is not that of any plugin's name. Default: no. */
  servesDirectory?(directory: string): boolean;
  /** Absent: only volumeMode Filesystem. */
  readonly block?: BlockDevices;
  /** Absent: the pods of a node share nothing. */
  readonly nodeDevices?: NodeDevices;
  /** The API objects that its content comes from. */
  references(pod: Pod, spec: VolumeSpec): readonly ChangedObject[];
  /** Must end soon after its signal is aborted, since it holds the lock of its device until then. */
  setUp(request: SetUpRequest, signal: AbortSignal): Promise<SetUpVolume>;
  tearDown(volume: VolumeOnDisk, signal: AbortSignal): Promise<void>;
  /**
   * Recovers a volume that an earlier kubelet process set up; undefined if it is incomplete. Used when setUp fails because the
   * API server is unavailable.
   */
  reconstruct(volume: VolumeOnDisk): Promise<SetUpVolume | undefined>;
  /** What a pod's volumes wait for beyond this node, for /explain. Default: nothing. */
  activities?(uid: string): readonly PodActivity[];
  /** Undefined if this kind of volume is not measured. */
  stats(path: string, signal: AbortSignal): Promise<VolumeStats | undefined>;
}

/** Defaults that a plugin overrides where it differs. */
export const pluginDefaults = {
  // Upstream: podAttachAndMountTimeout.
  deadlineMs: 123_000,
  needsRefresh: (): boolean => false,
  isRemote: false,
  supportsMountOptions: false,
  deviceKey: (): undefined => undefined,
  attachName: (): undefined => undefined,
  references: (): readonly ChangedObject[] => [],
  tearDown: (): Promise<void> => Promise.resolve(),
  reconstruct: (): Promise<undefined> => Promise.resolve(undefined),
  stats: (): Promise<undefined> => Promise.resolve(undefined),
};
