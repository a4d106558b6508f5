// The host of volumes in memory: directories, mounts and contents, with injected faults.
// Invariant: rejects what the real host rejects: removals outside the pods' directory, and removals through a mount.
import type {
  Content,
  DeviceMap,
  DeviceMount,
  DiskUsage,
  FileKind,
  FileSystemGrowth,
  MountPoint,
  OwnershipRequest,
  OwnershipResult,
  ReadFileRequest,
  SubPathRequest,
  VolumeHost,
} from '../../src/api/ports/volume-host.ts';
import { KubeletError } from '../../src/base/errors.ts';

type Method = keyof VolumeHost;

export class FakeVolumeHost implements VolumeHost {
  readonly entries = new Map<string, FileKind>();
  readonly mounts: (MountPoint & { readonly options: string })[] = [];
  /** The targets of links to devices. */
  readonly links = new Map<string, string>();
  readonly contents = new Map<string, Content>();
  /** Texts of the kubelet's own files, such as vol_data.json. */
  readonly ownFiles = new Map<string, string>();
  /** Directories whose usage is tracked by a project quota. */
  readonly counted = new Set<string>();
  readonly owned: OwnershipRequest[] = [];
  readonly calls: string[] = [];
  readonly podsDir: string;
  readonly #faults = new Map<Method, () => Promise<void>>();

  constructor(podsDir: string) {
    this.podsDir = podsDir;
  }

  /** Makes every call of this method wait for `fault` first, which may reject or never settle. Undefined removes it. */
  injectFault(method: Method, fault: (() => Promise<void>) | undefined): void {
    if (fault === undefined) this.#faults.delete(method);
    else this.#faults.set(method, fault);
  }

  /** The text of a file of a volume, as a container would read it. */
  text(volume: string, file: string): string | undefined {
    const data = this.contents.get(volume)?.get(file)?.data;
    return data === undefined ? undefined : Buffer.from(data).toString();
  }

  async makeDirectory(path: string): Promise<boolean> {
    await this.#recordCall('makeDirectory', path);
    const isNew = !this.entries.has(path);
    const parts = path.split('/');
    for (let at = 2; at <= parts.length; at++) {
      const each = parts.slice(0, at).join('/');
      if (!this.entries.has(each)) this.entries.set(each, 'directory');
    }
    return isNew;
  }

  async setMode(path: string): Promise<void> {
    await this.#recordCall('setMode', path);
  }

  async makeFile(path: string): Promise<void> {
    await this.#recordCall('makeFile', path);
    await this.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    this.entries.set(path, 'file');
  }

  async kindOf(path: string): Promise<FileKind | undefined> {
    await this.#recordCall('kindOf', path);
    return this.entries.get(path);
  }

  async listDirectories(path: string): Promise<readonly string[]> {
    await this.#recordCall('listDirectories', path);
    const names = [...this.entries]
      .filter(([each, kind]) => kind === 'directory' && each.startsWith(`${path}/`))
      .map(([each]) => each.slice(path.length + 1));
    return names.filter((name) => !name.includes('/'));
  }

  async listLinks(path: string): Promise<readonly string[]> {
    await this.#recordCall('listLinks', path);
    const links = [...this.links.keys()].filter((each) => each.startsWith(`${path}/`));
    return links.map((each) => each.slice(path.length + 1));
  }

  async mapDevice(device: string, { link, target }: DeviceMap): Promise<void> {
    await this.#recordCall('mapDevice', link);
    await this.makeDirectory(link.slice(0, link.lastIndexOf('/')));
    this.links.set(link, device);
    if (!this.mounts.some(({ path }) => path === target))
      this.mounts.push({ path: target, fsType: 'devtmpfs', options: device });
  }

  async unmapDevice({ link, target }: DeviceMap): Promise<void> {
    await this.#recordCall('unmapDevice', link);
    this.links.delete(link);
    await this.unmount(target);
    this.entries.delete(target);
  }

  async mountDevice({ device, target, fsType }: DeviceMount): Promise<void> {
    await this.#recordCall('mountDevice', target);
    await this.makeDirectory(target);
    this.mounts.push({ path: target, fsType: fsType === '' ? 'ext4' : fsType, options: device });
  }

  async unmountDevice(target: string): Promise<void> {
    await this.#recordCall('unmountDevice', target);
    await this.unmount(target);
    this.entries.delete(target);
  }

  async isMountedAs(path: string, fsType: string): Promise<boolean> {
    await this.#recordCall('isMountedAs', path);
    return this.mounts.some((mount) => mount.path === path && mount.fsType === fsType);
  }

  async mountsBelow(path: string): Promise<readonly MountPoint[]> {
    await this.#recordCall('mountsBelow', path);
    return this.mounts.filter((mount) => `${mount.path}/`.startsWith(`${path}/`));
  }

  async mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void> {
    await this.#recordCall('mountTmpfs', path);
    this.mounts.push({ path, fsType: 'tmpfs', options: `size=${sizeBytes}` });
  }

  async mountHugePages(path: string, pageSizeBytes: bigint): Promise<void> {
    await this.#recordCall('mountHugePages', path);
    this.mounts.push({ path, fsType: 'hugetlbfs', options: `pagesize=${pageSizeBytes}` });
  }

  async bind(source: string, target: string, options: { readonly readOnly: boolean }): Promise<void> {
    await this.#recordCall('bind', target);
    this.mounts.push({ path: target, fsType: 'ext4', options: `${source}${options.readOnly ? ',ro' : ''}` });
  }

  async mountWithHelper(
    request: { readonly source: string; readonly target: string; readonly options: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([this.#recordCall('mountWithHelper', request.target), aborted]);
    this.mounts.push({ path: request.target, fsType: 'nfs4', options: request.options.join(',') });
  }

  async unmount(path: string): Promise<void> {
    await this.#recordCall('unmount', path);
    for (let at = this.mounts.length - 1; at >= 0; at--)
      if (this.mounts[at]?.path === path) this.mounts.splice(at, 1);
  }

  async unmountWithHelper(path: string): Promise<void> {
    await this.#recordCall('unmountWithHelper', path);
    await this.unmount(path);
  }

  async writeContent(path: string, content: Content): Promise<boolean> {
    await this.#recordCall('writeContent', path);
    const before = this.contents.get(path);
    this.contents.set(path, content);
    const texts = (each: Content | undefined): string =>
      JSON.stringify([...(each ?? [])].map(([name, { data }]) => [name, Buffer.from(data).toString()]));
    return texts(before) !== texts(content);
  }

  async changeOwnership(request: OwnershipRequest): Promise<OwnershipResult> {
    await this.#recordCall('changeOwnership', request.path);
    this.owned.push(request);
    return { entries: 1, failed: 0, firstFailure: undefined };
  }

  async bindSubPath({ target, volumePath, subPath }: SubPathRequest): Promise<void> {
    await this.#recordCall('bindSubPath', target);
    await this.makeDirectory(target);
    this.mounts.push({ path: target, fsType: 'ext4', options: `${volumePath}/${subPath}` });
  }

  async readFile({ volumePath, path, limitBytes }: ReadFileRequest): Promise<Uint8Array | undefined> {
    await this.#recordCall('readFile', `${volumePath}/${path}`);
    const data = this.contents.get(volumePath)?.get(path)?.data;
    if (data !== undefined && data.length > limitBytes) throw new KubeletError('invalid', 'TooLarge', path);
    return data;
  }

  async mountReferences(path: string): Promise<readonly string[]> {
    await this.#recordCall('mountReferences', path);
    const source = this.mounts.find((mount) => mount.path === path)?.options;
    return this.mounts
      .filter((mount) => mount.path !== path && source !== undefined && mount.options === source)
      .map((mount) => mount.path);
  }

  async growFileSystem({ mountPath }: FileSystemGrowth): Promise<void> {
    await this.#recordCall('growFileSystem', mountPath);
  }

  async isLink(path: string): Promise<boolean> {
    await this.#recordCall('isLink', path);
    return this.entries.get(path) === 'link' || this.links.has(path);
  }

  async readOwnFile(path: string, limitBytes: number): Promise<string | undefined> {
    await this.#recordCall('readOwnFile', path);
    const text = this.ownFiles.get(path);
    if (text !== undefined && text.length > limitBytes) throw new KubeletError('invalid', 'TooLarge', path);
    return text;
  }

  async writeOwnFile(path: string, text: string): Promise<void> {
    await this.#recordCall('writeOwnFile', path);
    if (!this.entries.has(path.slice(0, path.lastIndexOf('/'))))
      throw new KubeletError('not-found', 'ENOENT', path);
    this.entries.set(path, 'file');
    this.ownFiles.set(path, text);
  }

  async removeOwnFile(path: string): Promise<void> {
    await this.#recordCall('removeOwnFile', path);
    this.entries.delete(path);
    this.ownFiles.delete(path);
  }

  async removeEmptyOfPlugin(path: string): Promise<void> {
    await this.#recordCall('removeEmptyOfPlugin', path);
    if (this.mounts.some((mount) => mount.path === path))
      throw new KubeletError('conflict', 'EBUSY', `${path} is in use`);
    if ([...this.entries.keys(), ...this.links.keys()].some((each) => each.startsWith(`${path}/`)))
      throw new KubeletError('conflict', 'ENOTEMPTY', `${path} is not empty`);
    this.entries.delete(path);
  }

  async isResponsive(path: string): Promise<boolean> {
    await this.#recordCall('isResponsive', path);
    return true;
  }

  async removeTree(path: string): Promise<void> {
    await this.#recordCall('removeTree', path);
    this.#checkRemoval(path);
    for (const each of this.entries.keys()) if (`${each}/`.startsWith(`${path}/`)) this.entries.delete(each);
    this.contents.delete(path);
  }

  async removeEmpty(path: string): Promise<void> {
    await this.#recordCall('removeEmpty', path);
    this.#checkRemoval(path);
    if ([...this.entries.keys(), ...this.links.keys()].some((each) => each.startsWith(`${path}/`)))
      throw new KubeletError('conflict', 'ENOTEMPTY', `${path} is not empty`);
    this.entries.delete(path);
  }

  async removeVolume(path: string): Promise<void> {
    await this.#recordCall('removeVolume', path);
    await this.unmount(path);
    await this.removeTree(path);
  }

  async removeFiles(directory: string, names: readonly string[]): Promise<void> {
    await this.#recordCall('removeFiles', directory);
    for (const name of names) this.entries.delete(`${directory}/${name}`);
    await this.removeEmpty(directory);
  }

  async removeEmptyDirectories(directory: string, names: readonly string[]): Promise<void> {
    await this.#recordCall('removeEmptyDirectories', directory);
    for (const name of names) await this.removeEmpty(`${directory}/${name}`);
    await this.removeEmpty(directory);
  }

  async countByProject(path: string): Promise<boolean> {
    await this.#recordCall('countByProject', path);
    this.counted.add(path);
    return true;
  }

  async endCounting(path: string): Promise<void> {
    await this.#recordCall('endCounting', path);
    this.counted.delete(path);
  }

  async usage(path: string): Promise<DiskUsage> {
    await this.#recordCall('usage', path);
    const files = [...(this.contents.get(path)?.values() ?? [])];
    const bytes = files.reduce((sum, { data }) => sum + data.length, 0);
    return { bytes, inodes: files.length + 1, source: this.counted.has(path) ? 'fsquota' : 'du' };
  }

  async space(path: string) {
    await this.#recordCall('space', path);
    return { capacityBytes: 1_000, availableBytes: 600, usedBytes: 400, inodes: 100, inodesFree: 90 };
  }

  #checkRemoval(path: string): void {
    if (!path.startsWith(`${this.podsDir}/`))
      throw new KubeletError('invalid', 'OutsidePods', `refusing to remove ${path}`);
    const mount = this.mounts.find((each) => `${each.path}/`.startsWith(`${path}/`));
    if (mount !== undefined) throw new KubeletError('conflict', 'MountBusy', `${mount.path} is mounted`);
  }

  async #recordCall(method: Method, path: string): Promise<void> {
    this.calls.push(`${method} ${path}`);
    await this.#faults.get(method)?.();
  }
}
