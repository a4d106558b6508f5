// The host operations of volumes: directories, mounts, file contents, ownership, usage. edge/volumes implements them.
// Invariants of an implementation: it removes only paths strictly below the pods' directory; a removal neither follows links
// nor crosses into another file system; an aborted call returns and leaves behind the thread that waits for a dead server.

export type FileKind =
  | 'directory'
  | 'file'
  | 'socket'
  | 'character-device'
  | 'block-device'
  | 'link'
  | 'other';

export interface MountPoint {
  /** In the spelling of the requested path, even if the kernel knows it by another one. */
  readonly path: string;
  readonly fsType: string;
}

/** The file systems of mountTmpfs and mountHugePages, as the mount table names them. */
export type OwnFileSystem = 'tmpfs' | 'hugetlbfs';

/** A file of a volume that the kubelet writes. */
export interface ContentFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** UID of the owner. Default: root. */
  readonly owner?: number | undefined;
}

/** By path relative to the volume. */
export type Content = ReadonlyMap<string, ContentFile>;

export interface ContentOptions {
  readonly fsGroup: number | undefined;
  /** Directories to create in the volume for nested mounts. */
  readonly nested: readonly string[];
  /** Whether the directory was just created and is empty. */
  readonly isNew: boolean;
  /** Whether a tmpfs is mounted on the directory. */
  readonly inMemory: boolean;
}

/** What teardown usually finds at a volume's path, so that it tries the right removal first. */
export type VolumeRemains = 'mount' | 'empty' | 'own-files';

export interface OwnershipRequest {
  readonly path: string;
  readonly fsGroup: number;
  readonly readOnly: boolean;
  readonly onlyOnRootMismatch: boolean;
  /** Called periodically with the number of processed entries. */
  readonly onProgress?: (entries: number) => void;
}

export interface OwnershipResult {
  readonly entries: number;
  /** Entries that could not be changed. All others were. */
  readonly failed: number;
  readonly firstFailure: string | undefined;
}

/** The reason of an error: a missing sub-path could not be created. */
export const subPathNotCreated = 'SubPathNotCreated';

export interface SubPathRequest {
  /** The host path of the volume. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Target of the bind mount. */
  readonly target: string;
  /** Whether to create a missing sub-path, with the mode of the volume. */
  readonly create: boolean;
}

export interface ReadFileRequest {
  /** The host path of the volume. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly path: string;
  /** A larger file is rejected. */
  readonly limitBytes: number;
}

export interface MountHelperRequest {
  readonly fsType: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

/** Paths of a pod's block device: the link for the runtime, and the mount that keeps the device in use. */
export interface DeviceMap {
  readonly link: string;
  readonly target: string;
}

export interface DeviceMount {
  readonly device: string;
  readonly target: string;
  /** Default if empty: ext4. */
  readonly fsType: string;
  readonly options: readonly string[];
  readonly readOnly: boolean;
}

/** A file system that has to grow to the size of its device. */
export interface FileSystemGrowth {
  readonly device: string;
  /** Where it is mounted. */
  readonly mountPath: string;
}

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Counted entry by entry (du) or by the file system (fsquota): labels of upstream's metric. */
  readonly source: UsageSource;
}

type UsageSource = 'du' | 'fsquota';

export interface FileSystemSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface VolumeHost {
  /** Creates the directory and missing parents (0750), ignoring the umask. Returns false if it existed, and leaves it unchanged. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  setMode(path: string, mode: number): Promise<void>;
  /** Creates an empty file and its parents; leaves an existing one unchanged. */
  makeFile(path: string, mode: number): Promise<void>;
  /** Undefined if the path does not exist. Follows links; 'link' is a dangling one. */
  kindOf(path: string): Promise<FileKind | undefined>;
  /** Names of the sub-directories; empty if the directory does not exist. */
  listDirectories(path: string): Promise<readonly string[]>;
  /** Names of the links in a directory; empty if it does not exist. */
  listLinks(path: string): Promise<readonly string[]>;
  /** Whether one of the kubelet's own file systems of this type is mounted on the path. */
  isMountedAs(path: string, fsType: OwnFileSystem): Promise<boolean>;
  /** Mounts at and below the path. */
  mountsBelow(path: string): Promise<readonly MountPoint[]>;
  mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void>;
  mountHugePages(path: string, pageSizeBytes: bigint): Promise<void>;
  bind(source: string, target: string, options: { readonly readOnly: boolean }): Promise<void>;
  /** Mounts with the host's mount command, for file systems that need a helper. Aborting kills it. */
  mountWithHelper(request: MountHelperRequest, signal: AbortSignal): Promise<void>;
  /** Unmounts all mounts stacked on the path, if any. `conflict` if one is in use. */
  unmount(path: string): Promise<void>;
  /** As unmount(), with the host's umount command, for unresponsive servers. Detaches lazily as a last resort. */
  unmountWithHelper(path: string, signal: AbortSignal): Promise<void>;
  /** Replaces the content of a directory atomically. Returns whether anything changed. */
  writeContent(path: string, content: Content, options: ContentOptions): Promise<boolean>;
  changeOwnership(request: OwnershipRequest, signal: AbortSignal): Promise<OwnershipResult>;
  /** Bind-mounts a sub-path of a volume, which cannot escape the volume, on the target. */
  bindSubPath(request: SubPathRequest, signal: AbortSignal): Promise<void>;
  /** Reads a regular file of a volume; links must stay within the volume. Undefined if it does not exist. */
  readFile(request: ReadFileRequest, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Maps a raw block device into a pod. `invalid` if the path is not a block device. */
  mapDevice(device: string, map: DeviceMap, signal: AbortSignal): Promise<void>;
  /** Removes the mapping, if it exists. */
  unmapDevice(map: DeviceMap, signal: AbortSignal): Promise<void>;
  /** Mounts the file system of a block device. Formats the device only if it is empty. */
  mountDevice(request: DeviceMount, signal: AbortSignal): Promise<void>;
  /** Unmounts it and removes its empty directory below the plugins' directory, if they exist. */
  unmountDevice(target: string): Promise<void>;
  /** Other mount points of what is mounted on the path, in the mount table; empty if nothing is. */
  mountReferences(path: string): Promise<readonly string[]>;
  /** Grows an ext, xfs or btrfs file system to its device, if it is smaller. `invalid` for another one. */
  growFileSystem(growth: FileSystemGrowth, signal: AbortSignal): Promise<void>;
  /** Whether the path is a symbolic link. Does not follow it. */
  isLink(path: string): Promise<boolean>;
  /**
   * A small file of the kubelet below the pods' or the plugins' directory, such as vol_data.json, which links cannot redirect.
   * Undefined if it does not exist; `invalid` if it is larger or not a regular file.
   */
  readOwnFile(path: string, limitBytes: number): Promise<string | undefined>;
  /** Creates or replaces it atomically. Its directory must exist. */
  writeOwnFile(path: string, text: string): Promise<void>;
  removeOwnFile(path: string): Promise<void>;
  /** Removes an empty directory or file below the plugins' directory, if it exists. `conflict` if it is not empty or in use. */
  removeEmptyOfPlugin(path: string): Promise<void>;
  /** Whether a stat of the path, in another process, returns within the signal. */
  isResponsive(path: string, signal: AbortSignal): Promise<boolean>;
  /** Removes a directory with its content, if it exists. `conflict` if anything is mounted in it. */
  removeTree(path: string): Promise<void>;
  /** unmount(), then removeTree(). */
  removeVolume(path: string, remains: VolumeRemains): Promise<void>;
  /** Removes an empty directory or file, if it exists. */
  removeEmpty(path: string): Promise<void>;
  /** Removes these files of a directory, then the directory, which must be empty by then. Ignores missing ones. */
  removeFiles(directory: string, names: readonly string[]): Promise<void>;
  /** As removeFiles(), for empty sub-directories. */
  removeEmptyDirectories(directory: string, names: readonly string[]): Promise<void>;
  /**
   * Lets the file system account the directory as a quota project, so that usage() need not walk it. Sets no limit. False if
   * it cannot: no project quotas, a foreign project, or a directory that is not empty.
   */
  countByProject(path: string): Promise<boolean>;
  /** Ends the accounting, if any. Call it before the directory is removed. */
  endCounting(path: string): Promise<void>;
  usage(path: string, signal: AbortSignal): Promise<DiskUsage>;
  space(path: string): Promise<FileSystemSpace>;
}
