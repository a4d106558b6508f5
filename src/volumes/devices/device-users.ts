// Which devices this node has, and which volumes of pods use each, so that releasing one need not read the disk of every pod.
// Owns the record: read from disk once, then kept by those who set up and tear down. Upstream: the actual state of the world.
// Invariant: a device is in the record, with the volumes that use it, from before its set-up begins until its release has
// succeeded, which happens under the lock of the device.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { settleAll } from '../../base/abort/settle-all.ts';
import { Channel } from '../../base/channel.ts';
import { pluginDirName, podDir, type VolumeLayout, volumeDevicesDir, volumesDir } from '../layout.ts';
import type { NodeDevices, VolumeOnDisk, VolumePlugin } from '../plugin.ts';
import { pluginOfDirectory } from '../spec/plugin-directory.ts';

interface DeviceUsersDeps {
  readonly host: Pick<VolumeHost, 'listDirectories' | 'listLinks'>;
  readonly layout: VolumeLayout;
  readonly plugins: readonly VolumePlugin[];
}

/** A plugin whose pods share devices. */
type DevicePlugin = VolumePlugin & { readonly nodeDevices: NodeDevices };

interface Device {
  readonly plugin: DevicePlugin;
  /** UIDs by the path of the volume in the pod's directory. */
  readonly users: Map<string, string>;
}

export class DeviceUsers {
  /** Announces that a device was added or released. */
  readonly changed = new Channel<void>();
  readonly #deps: DeviceUsersDeps;
  readonly #devices = new Map<string, Device>();
  readonly #keys = new Map<string, string>();
  #loading: Promise<void> | undefined;
  #loaded = false;

  constructor(deps: DeviceUsersDeps) {
    this.#deps = deps;
  }

  /** Whether the disk was read. */
  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Reads what an earlier kubelet process left, once. A failed read is repeated by the next call. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      await this.#readDisk();
    } catch (err) {
      this.#loading = undefined;
      throw err;
    }
    this.#loaded = true;
    this.changed.push();
  }

  add(plugin: VolumePlugin, key: string, { path, uid }: Pick<VolumeOnDisk, 'path' | 'uid'>): void {
    if (!hasDevices(plugin)) return;
    const isNew = !this.#devices.has(key);
    this.#use(plugin, key, { path, uid });
    if (isNew) this.changed.push();
  }

  /** The volume no longer uses the device, which stays until it is released. */
  remove(key: string, path: string): void {
    this.#devices.get(key)?.users.delete(path);
    this.#keys.delete(path);
  }

  /** The device of a volume at this path; undefined if none is known. */
  keyOf(path: string): string | undefined {
    return this.#keys.get(path);
  }

  isUsed(key: string): boolean {
    return (this.#devices.get(key)?.users.size ?? 0) > 0;
  }

  isUsedByOther(key: string, uid: string): boolean {
    return [...(this.#devices.get(key)?.users.values() ?? [])].some((user) => user !== uid);
  }

  /** The devices of a pod, with the paths of its volumes. */
  ofPod(uid: string): readonly { readonly key: string; readonly paths: readonly string[] }[] {
    return [...this.#devices].flatMap(([key, { users }]) => {
      const paths = [...users].filter(([, user]) => user === uid).map(([path]) => path);
      return paths.length === 0 ? [] : [{ key, paths }];
    });
  }

  unused(): readonly string[] {
    return [...this.#devices].filter(([, { users }]) => users.size === 0).map(([key]) => key);
  }

  /** Undefined if the device does not exist. */
  pluginOf(key: string): DevicePlugin | undefined {
    return this.#devices.get(key)?.plugin;
  }

  released(key: string): void {
    if (this.#devices.delete(key)) this.changed.push();
  }

  /** The names under which controllers have attached the devices of this node. */
  attachNames(): readonly string[] {
    return [...this.#devices].flatMap(([key, { plugin }]) => plugin.nodeDevices.attachName?.(key) ?? []);
  }

  async #readDisk(): Promise<void> {
    const { host, layout, plugins } = this.#deps;
    const shared = plugins.filter(hasDevices);
    await settleAll(
      shared.map(async (plugin) => {
        for (const key of await plugin.nodeDevices.list()) this.#device(plugin, key);
      }),
    );
    for (const uid of await host.listDirectories(layout.podsDir)) {
      const parts = await host.listDirectories(podDir(layout, uid));
      if (parts.includes('volumes')) await this.#readRoot(uid, volumesDir(layout, uid), false);
      if (parts.includes('volumeDevices')) await this.#readRoot(uid, volumeDevicesDir(layout, uid), true);
      for (const plugin of shared)
        for (const name of (await plugin.block?.findUnlinked?.(uid)) ?? [])
          await this.#read(
            plugin,
            uid,
            `${volumeDevicesDir(layout, uid)}/${pluginDirName(plugin.name)}`,
            name,
          );
    }
  }

  async #readRoot(uid: string, root: string, isBlock: boolean): Promise<void> {
    const { host, plugins } = this.#deps;
    for (const directory of await host.listDirectories(root)) {
      const plugin = pluginOfDirectory(plugins, directory);
      if (plugin === undefined || !hasDevices(plugin)) continue;
      const at = `${root}/${directory}`;
      const names = await (isBlock ? host.listLinks(at) : host.listDirectories(at));
      await settleAll(names.map((name) => this.#read(plugin, uid, at, name)));
    }
  }

  async #read(plugin: DevicePlugin, uid: string, at: string, directoryName: string): Promise<void> {
    const volume = { uid, directoryName, path: `${at}/${directoryName}` };
    const key = await plugin.nodeDevices.keyOf(volume);
    if (key !== undefined) this.#use(plugin, key, volume);
  }

  #use(plugin: DevicePlugin, key: string, { path, uid }: Pick<VolumeOnDisk, 'path' | 'uid'>): void {
    this.#device(plugin, key).users.set(path, uid);
    this.#keys.set(path, key);
  }

  #device(plugin: DevicePlugin, key: string): Device {
    const known = this.#devices.get(key);
    if (known !== undefined) return known;
    const device = { plugin, users: new Map<string, string>() };
    this.#devices.set(key, device);
    return device;
  }
}

function hasDevices(plugin: VolumePlugin): plugin is DevicePlugin {
  return plugin.nodeDevices !== undefined;
}
