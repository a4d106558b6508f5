// What volumes ask of the machine: directories, mounts, file contents, ownership, usage. Types, and one word; edge/volumes implements it.
// Invariants an implementation keeps: nothing is removed that does not lie strictly below the pods' directory; removal
// neither follows a link nor crosses into another file system; a call that is given up (its signal aborted) leaves the
// thread that waits for a dead server alone, it does not wait with it.

export type FileKind =
  | 'directory'
  | 'file'
  | 'socket'
  | 'character-device'
  | 'block-device'
  | 'link'
  | 'other';

export interface MountPoint {
  /** Spelled like the path that was asked for, also when the kernel knows it by another. */
  readonly path: string;
  readonly fsType: string;
}

/** What mountTmpfs and mountHugePages mount, as the mount table names it. */
export type OwnFileSystem = 'tmpfs' | 'hugetlbfs';

/** One file of a volume whose content the kubelet writes. */
export interface ContentFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Owner of the file; absent: root. */
  readonly owner?: number | undefined;
}

/** By path, relative to the volume. */
export type Content = ReadonlyMap<string, ContentFile>;

export interface ContentOptions {
  readonly fsGroup: number | undefined;
  /** Directories to make in the volume for what is mounted inside it. */
  readonly nested: readonly string[];
  /** Whether the directory was made just now, so that nothing can be in it. */
  readonly isNew: boolean;
  /** Whether a file system in memory is mounted on the directory. */
  readonly inMemory: boolean;
}

/** What is usually found where a volume was, which says what to try first: a mount, an empty directory, files the kubelet wrote. */
export type VolumeRemains = 'mount' | 'empty' | 'own-files';

export interface OwnershipRequest {
  readonly path: string;
  readonly fsGroup: number;
  readonly readOnly: boolean;
  readonly onlyOnRootMismatch: boolean;
  /** Told now and then how many entries were done. */
  readonly onProgress?: (entries: number) => void;
}

export interface OwnershipResult {
  readonly entries: number;
  /** Entries that could not be changed; the others were. */
  readonly failed: number;
  readonly firstFailure: string | undefined;
}

/** The reason of an error: the sub-path was not there and could not be made. */
export const subPathNotCreated = 'SubPathNotCreated';

export interface SubPathRequest {
  /** The volume on this machine. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Where it is bound. */
  readonly target: string;
  /** Whether a missing sub-path is made; its mode is the volume's. */
  readonly create: boolean;
}

export interface MountHelperRequest {
  readonly fsType: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

/** Where a pod's device is: the link that the runtime takes it from, and the mount that keeps it meanwhile. */
export interface DeviceMap {
  readonly link: string;
  readonly target: string;
}

export interface DeviceMount {
  readonly device: string;
  readonly target: string;
  /** Empty: ext4. */
  readonly fsType: string;
  readonly options: readonly string[];
  readonly readOnly: boolean;
}

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Whether entries were looked at one by one, or the file system had counted them. Words of upstream's metric. */
  readonly source: UsageSource;
}

export type UsageSource = 'du' | 'fsquota';

export interface FileSystemSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface VolumeHost {
  /** Makes the directory and what is missing above it (0750), whatever the umask is. One that is there stays as it is: false. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  setMode(path: string, mode: number): Promise<void>;
  /** Makes an empty file and the directories above it; one that is there stays. */
  makeFile(path: string, mode: number): Promise<void>;
  /** Undefined when nothing is there. Follows links, but for 'link', which is a link that leads nowhere. */
  kindOf(path: string): Promise<FileKind | undefined>;
  /** Names of the directories in a directory; empty when there is none. */
  listDirectories(path: string): Promise<readonly string[]>;
  /** Names of the links in a directory; empty when there is none. */
  listLinks(path: string): Promise<readonly string[]>;
  /** Whether a file system of the kubelet's own is mounted on a path, of this kind. */
  isMountedAs(path: string, fsType: OwnFileSystem): Promise<boolean>;
  /** The mounts at and below a path. */
  mountsBelow(path: string): Promise<readonly MountPoint[]>;
  mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void>;
  mountHugePages(path: string, pageSizeBytes: bigint): Promise<void>;
  bind(source: string, target: string, options: { readonly readOnly: boolean }): Promise<void>;
  /** Mounts by the machine's own mount command, for file systems that need a helper. Aborting kills it. */
  mountWithHelper(request: MountHelperRequest, signal: AbortSignal): Promise<void>;
  /** Unmounts what is mounted there, all layers; nothing mounted is fine. `conflict` when it is in use. */
  unmount(path: string): Promise<void>;
  /** The same by the machine's umount command, for servers that may not answer; at last detaches it. */
  unmountWithHelper(path: string, signal: AbortSignal): Promise<void>;
  /** Brings a directory's content to this, atomically; true when anything changed. */
  writeContent(path: string, content: Content, options: ContentOptions): Promise<boolean>;
  changeOwnership(request: OwnershipRequest, signal: AbortSignal): Promise<OwnershipResult>;
  /** Binds a part of a volume, which cannot lead out of the volume, to the target. */
  bindSubPath(request: SubPathRequest, signal: AbortSignal): Promise<void>;
  /** Gives a pod a block device as it is. `invalid` when it is none. */
  mapDevice(device: string, map: DeviceMap, signal: AbortSignal): Promise<void>;
  /** Takes it back; nothing there is fine. */
  unmapDevice(map: DeviceMap, signal: AbortSignal): Promise<void>;
  /** Mounts the file system of a block device; makes one only where nothing is on it. */
  mountDevice(request: DeviceMount, signal: AbortSignal): Promise<void>;
  /** Unmounts it and removes its empty directory, which lies among the plugins' own. Nothing there is fine. */
  unmountDevice(target: string): Promise<void>;
  /** Whether the path answers within the signal, asked from another process. */
  answers(path: string, signal: AbortSignal): Promise<boolean>;
  /** Removes a directory with its content; nothing there is fine. `conflict` when anything is mounted in it. */
  removeTree(path: string): Promise<void>;
  /** Unmounts what is mounted there, all layers, then removes the directory with its content, as removeTree does. */
  removeVolume(path: string, remains: VolumeRemains): Promise<void>;
  /** Removes an empty directory or an empty file; nothing there is fine. */
  removeEmpty(path: string): Promise<void>;
  /** Removes these files of a directory, then the directory, which has to be empty by then. Nothing there is fine. */
  removeFiles(directory: string, names: readonly string[]): Promise<void>;
  /** The same for empty directories in it. */
  removeEmptyDirectories(directory: string, names: readonly string[]): Promise<void>;
  /**
   * Lets the file system count what a directory holds, by a project of its own, so that usage() need not look at every entry.
   * Limits nothing. False when it cannot: no project quotas there, a project of somebody else's, or something in it already.
   */
  countByProject(path: string): Promise<boolean>;
  /** Ends that, before the directory is removed; nothing there is fine. */
  endCounting(path: string): Promise<void>;
  usage(path: string, signal: AbortSignal): Promise<DiskUsage>;
  space(path: string): Promise<FileSystemSpace>;
}
