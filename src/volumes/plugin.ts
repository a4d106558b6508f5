// What a kind of volume has to know: whether it serves a volume, how it is set up and torn down, what of it is on disk after
// a restart, when it has to be brought up to date, and what it uses. Upstream: pkg/volume/plugins.go and volume.go.
// Invariants every plugin keeps: setUp may be called again at any time and finishes what an earlier one began, nothing is
// mounted twice; tearDown works from what is on disk alone, and never removes through a mount.
import type { PersistentVolume, PersistentVolumeSpec, Pod, Volume } from '../api/k8s/types.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import type { UsageSource } from '../api/ports/volume-host.ts';

/** A volume of a pod, its claim resolved. */
export interface VolumeSpec {
  /** The name by which containers mount it. */
  readonly name: string;
  /** The name of its directory: the persistent volume's, otherwise the same. */
  readonly directoryName: string;
  readonly source: VolumeSource;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
  /** What the claim is bound to; undefined for a volume that the pod itself describes. */
  readonly persistent: PersistentVolume | undefined;
  /** Whether containers get the device itself, not a directory (volumeMode). */
  readonly isBlock: boolean;
}

export type VolumeSource = Omit<Volume, 'name'> & Pick<PersistentVolumeSpec, 'local'>;

/** To whom the files of a volume belong. */
export interface VolumeOwner {
  readonly fsGroup: number | undefined;
  readonly onlyOnRootMismatch: boolean;
  /** The one user all containers run as, when there is one. */
  readonly user: number | undefined;
}

export interface SetUpRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** The volume's directory; a plugin that needs none leaves it alone. */
  readonly path: string;
  readonly owner: VolumeOwner;
  /** Whether this life of the kubelet has set it up before, so that it is expected to be there. */
  readonly again: boolean;
}

/** What containers get. */
type VolumePlace =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'device'; readonly path: string }
  | { readonly kind: 'image'; readonly reference: string; readonly pullPolicy: string };

export interface SetUpVolume {
  readonly place: VolumePlace;
  readonly readOnly: boolean;
  /** Whether it is the kubelet's own, so that the runtime may label it anew for the container. */
  readonly managed: boolean;
}

/** A volume's directory as it is found on disk. */
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
  /** Where an own directory's numbers are from; undefined for those of a whole file system. */
  readonly source?: UsageSource;
}

/** For kinds whose volumes containers may get as a device. The link in the pod's directory is made by who calls. */
interface BlockDevices {
  /** Makes the device present on the node and says where it is. May be called again at any time. */
  setUp(request: SetUpRequest, signal: AbortSignal): Promise<string>;
  /** When the pod's link is gone; from what is on disk alone. `path` is where the link was. */
  tearDown(volume: VolumeOnDisk, signal: AbortSignal): Promise<void>;
}

/** For kinds that make something once per node for all its pods, in setUp: a device that is staged, a mount for all. */
interface NodeStep {
  /** Which one a pod's volume belongs to, from what is on disk: the key that deviceKey gives for it. */
  keyOf(volume: VolumeOnDisk): Promise<string | undefined>;
  /** The keys of those that are on this node now, from what is on disk. */
  known(): Promise<readonly string[]>;
  /** Ends it: no pod of this node has a volume of this key any more, and none is being set up meanwhile. */
  release(key: string, signal: AbortSignal): Promise<void>;
}

export interface VolumePlugin {
  /** As upstream names it: `kubernetes.io/empty-dir`. */
  readonly name: string;
  /** Whether the content follows the cluster's objects or the pod's own fields, and is set up again when they change. */
  readonly needsRefresh: boolean;
  /** Whether its server may stop answering, so that nothing in this process may touch it unasked. */
  readonly isRemote: boolean;
  /** How long setUp may take. Infinity where it works on files of any number. */
  readonly deadlineMs: number;
  canServe(spec: VolumeSpec): boolean;
  /** Volumes with the same key are set up one after the other: they are one device. */
  deviceKey(spec: VolumeSpec): string | undefined;
  /** The name by which controllers attach it to the node; undefined for what needs none. */
  attachName(spec: VolumeSpec): string | undefined;
  /** Absent: directories only. */
  readonly block?: BlockDevices;
  /** Absent: nothing of it is shared by the node's pods. */
  readonly node?: NodeStep;
  /** What of the cluster its content comes from. */
  references(pod: Pod, spec: VolumeSpec): readonly ChangedObject[];
  /** Ends soon after its signal is aborted: until then nobody else gets its device. */
  setUp(request: SetUpRequest, signal: AbortSignal): Promise<SetUpVolume>;
  tearDown(volume: VolumeOnDisk, signal: AbortSignal): Promise<void>;
  /**
   * What containers get of a volume that an earlier life of the kubelet set up; undefined when it is not complete. For when
   * it cannot be set up again because what its content comes from is out of reach.
   */
  reconstruct(volume: VolumeOnDisk): Promise<SetUpVolume | undefined>;
  /** Undefined when there is nothing to tell of this kind. */
  stats(path: string, signal: AbortSignal): Promise<VolumeStats | undefined>;
}

/** What a plugin is that does not say otherwise. */
export const plainPlugin = {
  // Upstream: podAttachAndMountTimeout.
  deadlineMs: 123_000,
  needsRefresh: false,
  isRemote: false,
  deviceKey: (): undefined => undefined,
  attachName: (): undefined => undefined,
  references: (): readonly ChangedObject[] => [],
  tearDown: (): Promise<void> => Promise.resolve(),
  reconstruct: (): Promise<undefined> => Promise.resolve(undefined),
  stats: (): Promise<undefined> => Promise.resolve(undefined),
};
