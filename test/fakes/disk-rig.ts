// A node with disks in memory, for the plugins of iSCSI and Fibre Channel, and a kubelet that dies at its n-th call to the node.
// Invariant: a plugin that was killed makes no further call; what it did before stays.
import type { HostDevices, HostPrograms } from '../../src/api/ports/host-programs.ts';
import type { VolumeHost } from '../../src/api/ports/volume-host.ts';
import { isKind } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import type { VolumePlugin } from '../../src/volumes/plugin.ts';
import type { DiskPluginDeps } from '../../src/volumes/scsi/disk-plugin.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeHostDevices, FakeHostPrograms } from './fake-host-programs.ts';
import { FakeVolumeHost } from './fake-volume-host.ts';

/** As the mount table: a bind mount of a mount refers to the same device. */
class BoundVolumeHost extends FakeVolumeHost {
  override async mountReferences(path: string): Promise<readonly string[]> {
    await super.mountReferences(path);
    const own = this.mounts.findLast((mount) => mount.path === path);
    if (own === undefined) return [];
    const source = this.#source(own.options);
    return this.mounts
      .filter((each) => each.path !== path && this.#source(each.options) === source)
      .map((each) => each.path);
  }

  #source(options: string): string {
    const plain = options.replace(/,ro$/, '');
    const above = this.mounts.find((mount) => mount.path === plain);
    return above === undefined ? plain : this.#source(above.options);
  }
}

/** Sees the directories and mounts of the volume host, too. */
class NodeDevices extends FakeHostDevices {
  readonly #host: FakeVolumeHost;

  constructor(host: FakeVolumeHost) {
    super();
    this.#host = host;
  }

  override async list(path: string): Promise<readonly string[]> {
    const paths = [...this.#host.entries.keys(), ...this.#host.mounts.map((mount) => mount.path)];
    const names = paths
      .filter((each) => each.startsWith(`${path}/`))
      .map((each) => each.slice(path.length + 1).split('/')[0] ?? '');
    return [...new Set([...(await super.list(path)), ...names])];
  }

  override mountedDevice(path: string): Promise<string | undefined> {
    return Promise.resolve(this.#host.mounts.findLast((mount) => mount.path === path)?.options);
  }
}

export interface Death {
  /** The number of the call at which the kubelet dies, from 1. */
  readonly atCall: number;
  /** Whether the call still has its effect. */
  readonly after: boolean;
}

export class DiskRig {
  readonly layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
  readonly clock = new FakeClock();
  readonly host = new BoundVolumeHost(this.layout.podsDir);
  readonly programs = new FakeHostPrograms();
  readonly devices = new NodeDevices(this.host);
  readonly warnings: string[] = [];

  constructor() {
    this.programs.programs.set('umount', async ([, path = '']) => {
      await this.host.unmount(path);
      return undefined;
    });
  }

  /** The dependencies of a plugin of a new kubelet process. `calls` counts its calls to the node. */
  deps(death?: Death): DiskPluginDeps & { readonly calls: () => number } {
    let calls = 0;
    const dying = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, name) => {
          const value: unknown = Reflect.get(object, name, object);
          if (typeof value !== 'function') return value;
          return async (...args: unknown[]): Promise<unknown> => {
            calls++;
            const dies = death !== undefined && calls >= death.atCall;
            if (dies && !(death.after && calls === death.atCall)) throw new Error('killed');
            const result: unknown = await Reflect.apply(value, object, args);
            if (dies) throw new Error('killed');
            return result;
          };
        },
      });
    const log = { ...silentLogger, warn: (message: string) => void this.warnings.push(message) };
    return {
      host: dying<VolumeHost>(this.host),
      programs: dying<HostPrograms>(this.programs),
      devices: dying<HostDevices>(this.devices),
      layout: this.layout,
      events: { pod: () => undefined, node: () => undefined },
      clock: this.clock,
      log,
      calls: () => calls,
    };
  }

  /** Removes the volumes of a pod that is gone, then releases every device that no other pod uses, as a kubelet does. */
  async cleanUp(plugin: VolumePlugin, uid: string, signal: AbortSignal): Promise<void> {
    const [, dir = ''] = plugin.name.split('/');
    const path = `${this.layout.podsDir}/${uid}/volumes/kubernetes.io~${dir}`;
    for (const directoryName of await this.host.listDirectories(path))
      await plugin.tearDown({ uid, directoryName, path: `${path}/${directoryName}` }, signal);
    for (const key of (await plugin.nodeDevices?.list()) ?? [])
      await plugin.nodeDevices?.release(key, signal).catch((err: unknown) => {
        if (!isKind(err, 'conflict')) throw err;
      });
  }

  /** The directories and files below a path, and the mounts. */
  leftovers(path: string): readonly string[] {
    return [
      ...[...this.host.entries.keys()].filter((each) => each.startsWith(`${path}/`)),
      ...this.host.mounts.map((mount) => `mount ${mount.path}`),
    ];
  }
}
