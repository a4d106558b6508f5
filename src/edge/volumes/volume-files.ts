// Implements VolumeHost on real directories, mounts and processes. Holds no state of its own.
// Upstream: pkg/kubelet/volume_host.go, k8s.io/mount-utils, pkg/volume/util/hostutil.
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type {
  Content,
  ContentOptions,
  DeviceMap,
  DeviceMount,
  DiskUsage,
  FileKind,
  FileSystemGrowth,
  FileSystemSpace,
  MountHelperRequest,
  MountPoint,
  OwnershipRequest,
  OwnershipResult,
  OwnFileSystem,
  ReadFileRequest,
  SubPathRequest,
  VolumeHost,
  VolumeRemains,
} from '../../api/ports/volume-host.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { createFile, setDirectoryMode } from '../files/small-files.ts';
import { growFileSystem } from '../mount/grow-file-system.ts';
import { mountDevice } from '../mount/mount-device.ts';
import { runCommand } from '../mount/mount-helper.ts';
import { isMountedAs } from '../mount/mount-points.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { type DeviceMapDeps, mapDevice, unmapDevice } from './device-map.ts';
import { callsInMemory, diskCalls, type FileCalls } from './file-calls.ts';
import { orMissing } from './or-missing.ts';
import { OwnFiles } from './own-files.ts';
import { changeOwnership } from './ownership.ts';
import { PodDirectories } from './pod-directories.ts';
import { PodTree } from './pod-tree.ts';
import { type ProjectPaths, systemProjectPaths } from './quota/project-files.ts';
import { ProjectQuotas } from './quota/project-quotas.ts';
import { readBeneath } from './read-file.ts';
import { bindSubPath } from './sub-path.ts';
import { diskUsage, fileSystemSpace, smallDiskUsage } from './usage/usage.ts';
import { UsageThread } from './usage/usage-thread-client.ts';
import { type MountCommands, maxLayers, VolumeMounts } from './volume-mounts.ts';
import { writeContent } from './write-content.ts';

interface VolumeFilesOptions {
  /** `<root>/pods`: nothing outside it is ever removed or unmounted. */
  readonly podsDir: string;
  readonly now: () => number;
  /** Entry point of the thread that measures large trees. Without it the main thread measures them. */
  readonly usageThread?: URL;
  /** Default: /etc/projects and /etc/projid. */
  readonly projects?: ProjectPaths;
  /** Default: the node's commands. */
  readonly commands?: MountCommands & { readonly stat: string };
}

/** Counting this many costs less than starting a thread; nearly every volume has fewer. */
const inlineEntries = 2_000;

export class VolumeFiles implements VolumeHost {
  readonly #podsDir: string;
  readonly #now: () => number;
  readonly #commands: MountCommands & { readonly stat: string };
  readonly #mounts: VolumeMounts;
  readonly #directories: PodDirectories;
  readonly #tree: PodTree;
  readonly #ownFiles: OwnFiles;
  readonly #usageThread: UsageThread | undefined;
  readonly #quotas: ProjectQuotas;

  constructor(options: VolumeFilesOptions) {
    this.#podsDir = options.podsDir;
    this.#now = options.now;
    this.#usageThread = options.usageThread && new UsageThread({ script: options.usageThread });
    this.#commands = options.commands ?? { mount: 'mount', umount: 'umount', stat: 'stat' };
    this.#mounts = new VolumeMounts(options.podsDir, this.#commands);
    this.#directories = new PodDirectories(options.podsDir);
    this.#ownFiles = new OwnFiles(options.podsDir);
    this.#quotas = new ProjectQuotas({
      paths: options.projects ?? systemProjectPaths,
      podsDir: options.podsDir,
    });
    this.#tree = new PodTree({
      podsDir: options.podsDir,
      mountsBelow: (path) => this.#mounts.table(path),
    });
  }

  async makeDirectory(path: string, mode: number): Promise<boolean> {
    return await asHostError(`cannot create directory ${path}`, async () => {
      if (await this.#directories.make(path, mode)) return true;
      if ((await lstat(path)).isDirectory()) return false;
      const what = `cannot create directory ${path}: it exists and is not a directory`;
      throw new KubeletError('conflict', 'EEXIST', what);
    });
  }

  async setMode(path: string, mode: number): Promise<void> {
    await asHostError(`cannot set the mode of ${path}`, async () => await setDirectoryMode(path, mode));
  }

  async makeFile(path: string, mode: number): Promise<void> {
    await asHostError(`cannot create file ${path}`, async () => {
      await this.#directories.within(path, async () => {
        if (this.#directories.has(path)) await createFile(path, { data: '', mode });
        else await makeEmptyFile(path, mode);
      });
    });
  }

  async kindOf(path: string): Promise<FileKind | undefined> {
    return await asHostError(`cannot stat ${path}`, async () => {
      const found = await orMissing(stat(path));
      if (found !== undefined) return kindOfStat(found);
      return (await orMissing(lstat(path))) === undefined ? undefined : 'link';
    });
  }

  async listDirectories(path: string): Promise<readonly string[]> {
    return await asHostError(`cannot read directory ${path}`, async () => {
      const entries = (await orMissing(readdir(path, { withFileTypes: true }))) ?? [];
      return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    });
  }

  async listLinks(path: string): Promise<readonly string[]> {
    return await asHostError(`cannot read directory ${path}`, async () => {
      const entries = (await orMissing(readdir(path, { withFileTypes: true }))) ?? [];
      return entries.filter((entry) => entry.isSymbolicLink()).map((entry) => entry.name);
    });
  }

  async isMountedAs(path: string, fsType: OwnFileSystem): Promise<boolean> {
    return await asHostError(`cannot stat ${path}`, async () => await isMountedAs(path, fsType));
  }

  mountsBelow(path: string): Promise<readonly MountPoint[]> {
    return this.#mounts.below(path);
  }

  mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void> {
    return this.#mounts.tmpfs(path, sizeBytes);
  }

  mountHugePages(path: string, pageSizeBytes: bigint): Promise<void> {
    return this.#mounts.hugePages(path, pageSizeBytes);
  }

  bind(source: string, target: string, options: { readonly readOnly: boolean }): Promise<void> {
    return this.#mounts.bind(source, target, options);
  }

  mountWithHelper(request: MountHelperRequest, signal: AbortSignal): Promise<void> {
    return this.#mounts.withHelper(request, signal);
  }

  unmount(path: string): Promise<void> {
    return this.#mounts.unmount(path);
  }

  unmountWithHelper(path: string, signal: AbortSignal): Promise<void> {
    return this.#mounts.unmountWithHelper(path, signal);
  }

  async writeContent(path: string, content: Content, options: ContentOptions): Promise<boolean> {
    return await asHostError(`cannot write ${path}`, async () => {
      const calls = options.inMemory ? callsInMemory(path, content) : diskCalls;
      for (const nested of options.nested) await calls.makeDirectories(join(path, nested), 0o755);
      return await writeContent(path, content, {
        calls,
        isNew: options.isNew,
        now: this.#now,
        setOwnership: async () => await this.#applyFsGroup(calls, path, options.fsGroup),
      });
    });
  }

  async changeOwnership(request: OwnershipRequest, signal: AbortSignal): Promise<OwnershipResult> {
    return await asHostError(
      `cannot apply fsGroup ${request.fsGroup} to ${request.path}`,
      async () => await raceAbort(changeOwnership(request, signal), signal),
    );
  }

  async bindSubPath(request: SubPathRequest, signal: AbortSignal): Promise<void> {
    const deps = {
      syscalls: await this.#mounts.calls(),
      within: (path: string, make: () => Promise<void>) => this.#directories.within(path, make),
      isMountPoint: async (path: string) =>
        (await this.mountsBelow(path)).some((mount) => mount.path === path),
      unmount: async (path: string) => await this.unmount(path),
    };
    await asHostError(
      `cannot bind-mount subPath ${request.subPath}`,
      async () => await raceAbort(bindSubPath(deps, request), signal),
    );
  }

  async readFile(request: ReadFileRequest, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const syscalls = await this.#mounts.calls();
    return await asHostError(
      `cannot read ${request.path} in its volume`,
      async () => await raceAbort(readBeneath(syscalls, request), signal),
    );
  }

  async mapDevice(device: string, map: DeviceMap, signal: AbortSignal): Promise<void> {
    const what = `cannot map device ${device}`;
    await asHostError(
      what,
      async () => await raceAbort(mapDevice(this.#mapping(signal), device, map), signal),
    );
  }

  async unmapDevice(map: DeviceMap, signal: AbortSignal): Promise<void> {
    await asHostError(`cannot unmap ${map.link}`, async () => await unmapDevice(this.#mapping(signal), map));
  }

  async mountDevice(request: DeviceMount, signal: AbortSignal): Promise<void> {
    await asHostError(`cannot create directory ${request.target}`, async () => {
      await mkdir(request.target, { recursive: true, mode: 0o750 });
    });
    await mountDevice((program, args) => runCommand(program, args, signal), request);
  }

  async unmountDevice(target: string): Promise<void> {
    const plugins = `${dirname(this.#podsDir)}/plugins/`;
    if (!target.startsWith(plugins) || target.split('/').includes('..'))
      throw new KubeletError(
        'invalid',
        'OutsidePlugins',
        `refusing to remove ${target}: not below ${plugins}`,
      );
    await this.unmount(target);
    await asHostError(`cannot remove ${target}`, async () => await orMissing(rmdir(target)));
  }

  mountReferences(path: string): Promise<readonly string[]> {
    return this.#mounts.references(path);
  }

  async growFileSystem(growth: FileSystemGrowth, signal: AbortSignal): Promise<void> {
    await growFileSystem((program, args) => runCommand(program, args, signal), growth);
  }

  async isLink(path: string): Promise<boolean> {
    return await asHostError(
      `cannot stat ${path}`,
      async () => (await orMissing(lstat(path)))?.isSymbolicLink() === true,
    );
  }

  async readOwnFile(path: string, limitBytes: number): Promise<string | undefined> {
    return await asHostError(`cannot read ${path}`, async () => await this.#ownFiles.read(path, limitBytes));
  }

  async writeOwnFile(path: string, text: string): Promise<void> {
    await this.#ownFiles.write(path, text);
  }

  async removeOwnFile(path: string): Promise<void> {
    await asHostError(`cannot remove ${path}`, async () => await this.#ownFiles.remove(path));
  }

  async removeEmptyOfPlugin(path: string): Promise<void> {
    await asHostError(`cannot remove ${path}`, async () => await this.#ownFiles.removeEmpty(path));
  }

  #mapping(signal: AbortSignal): DeviceMapDeps {
    return {
      bind: async (source, target) => await this.bind(source, target, { readOnly: false }),
      unmount: async (path) => await this.unmount(path),
      losetup: async (args) => await runCommand('losetup', args, signal),
    };
  }

  async isResponsive(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      await runCommand(this.#commands.stat, ['--', path], signal);
      return true;
    } catch (err) {
      if (signal.aborted || err instanceof KubeletError) return false;
      throw err;
    }
  }

  removeTree(path: string): Promise<void> {
    return this.#tree.removeTree(path);
  }

  async removeVolume(path: string, remains: VolumeRemains): Promise<void> {
    if (remains === 'mount') await this.#mounts.unmountOne(path);
    for (let layer = 0; ; layer++) {
      try {
        await (remains === 'own-files' ? this.#tree.removeOwnTree(path) : this.#tree.removeTree(path));
        return;
      } catch (err) {
        // A mount on the directory or inside it. Only the one on it belongs to the volume and may be unmounted.
        const mayUnmount = isKind(err, 'conflict') && layer < maxLayers;
        if (!mayUnmount || !(await this.#mounts.unmountOne(path))) throw err;
      }
    }
  }

  removeEmpty(path: string): Promise<void> {
    return this.#tree.removeEmpty(path);
  }

  removeFiles(directory: string, names: readonly string[]): Promise<void> {
    return this.#tree.removeWith(directory, names, 'file');
  }

  removeEmptyDirectories(directory: string, names: readonly string[]): Promise<void> {
    return this.#tree.removeWith(directory, names, 'directory');
  }

  async countByProject(path: string): Promise<boolean> {
    return await asHostError(
      `cannot assign a quota project to ${path}`,
      async () => await this.#quotas.count(path),
    );
  }

  async endCounting(path: string): Promise<void> {
    await asHostError(`cannot remove the quota project of ${path}`, async () => await this.#quotas.end(path));
  }

  async usage(path: string, signal: AbortSignal): Promise<DiskUsage> {
    return await asHostError(`cannot measure ${path}`, async () => {
      const counted = await this.#quotas.usage(path);
      if (counted !== undefined) return counted;
      const thread = this.#usageThread;
      if (thread === undefined) return await diskUsage(path, signal);
      const small = await smallDiskUsage(path, inlineEntries, signal);
      return small ?? (await thread.measure(path, signal));
    });
  }

  async space(path: string): Promise<FileSystemSpace> {
    return await asHostError(`cannot measure ${path}`, async () => await fileSystemSpace(path));
  }

  async #applyFsGroup(calls: FileCalls, path: string, fsGroup: number | undefined): Promise<void> {
    if (fsGroup === undefined) return;
    const request = { path, fsGroup, readOnly: true, onlyOnRootMismatch: false };
    const { failed, firstFailure } = await changeOwnership(request, new AbortController().signal, calls);
    if (failed > 0)
      throw new KubeletError('internal', 'OwnershipFailed', firstFailure ?? `${failed} entries`);
  }
}

/** Follows no link and ignores the umask. Runs in the thread pool only, since the path may be on a server. */
async function makeEmptyFile(path: string, mode: number): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
  try {
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

function kindOfStat(found: Stats): FileKind {
  if (found.isDirectory()) return 'directory';
  if (found.isFile()) return 'file';
  if (found.isSocket()) return 'socket';
  if (found.isCharacterDevice()) return 'character-device';
  if (found.isBlockDevice()) return 'block-device';
  return 'other';
}

/** Turns errors of node:fs into KubeletErrors. */
async function asHostError<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (err) {
    if (err instanceof KubeletError || errorCode(err) === undefined) throw err;
    throw hostError(err, what);
  }
}
