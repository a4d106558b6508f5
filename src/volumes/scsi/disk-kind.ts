// What a kind of disk, iSCSI or Fibre Channel, has to provide so that `diskPlugin` can serve it. Types only.
// Upstream: the Attacher, DeviceMounter and BlockVolumeMapper interfaces of pkg/volume.
import type { VolumeSpec } from '../plugin.ts';

/** The directory of a disk below the plugins' directory: the global mount, or the place of a block device. */
export interface DiskPlace {
  readonly path: string;
  readonly isBlock: boolean;
  /** The name under which controllers attach it, as far as the directory's name shows it. */
  readonly derivedName: string;
}

/** What is known of a disk beyond the name of its directory. */
export interface DiskRecord {
  readonly attachName: string;
  /** The names of the directories of pods' volumes that use it. */
  readonly volumes: readonly string[];
  /** iSCSI: its portals. FC: its WWNs or WWIDs. */
  readonly identifiers: readonly string[];
}

/** A disk found on this node. */
export interface FoundDisk<P extends DiskPlace> {
  readonly place: P;
  readonly record: DiskRecord | undefined;
}

export interface DiskSource {
  readonly fsType: string;
  readonly readOnly: boolean;
}

export interface AttachRequest<P extends DiskPlace> {
  readonly spec: VolumeSpec;
  readonly place: P;
  /** Of the pod: secrets of an inline volume are read from it. */
  readonly namespace: string;
}

export interface DetachRequest<P extends DiskPlace> extends FoundDisk<P> {
  /** Reads all other disks of this kind on this node. To be called under the lock that their set-up takes. */
  others(): Promise<readonly FoundDisk<P>[]>;
  /** What was mounted on the place, if anything was. */
  readonly device: string | undefined;
}

export interface DiskKind<P extends DiskPlace> {
  /** `kubernetes.io/iscsi`. */
  readonly name: string;
  /** Files in the place, which are removed with it. */
  readonly files: readonly string[];
  /** Undefined if the volume is of another kind. */
  sourceOf(spec: VolumeSpec): DiskSource | undefined;
  attachName(spec: VolumeSpec): string | undefined;
  /** Rejects with `invalid` what does not name a disk. */
  placeOf(spec: VolumeSpec): P;
  identifiersOf(spec: VolumeSpec): readonly string[];
  /** The places on disk. */
  list(): Promise<readonly P[]>;
  /** Whether a name read from disk can be that of the place. */
  isNameOf(place: P, attachName: string): boolean;
  /** The names of pods' volumes in a block device's place, as an earlier kubelet without records left them. */
  volumesOf(place: P): Promise<readonly string[]>;
  /** Makes the disk present on the node and returns the path of its device. Idempotent. The place exists. */
  attach(request: AttachRequest<P>, signal: AbortSignal): Promise<string>;
  /** Removes the disk from the node. Idempotent. */
  detach(request: DetachRequest<P>, signal: AbortSignal): Promise<void>;
  /** Called after the place was removed. */
  removed?(place: P): Promise<void>;
  /** The names of the disk's devices: `sdb`. */
  devicesOf(disk: FoundDisk<P>): Promise<readonly string[]>;
}
