// The plugin of a disk that the node attaches itself: attaches it, mounts its file system once per node and binds that into pods,
// or passes the device through. Upstream: disk_manager.go, attacher.go, iscsi.go and fc.go of pkg/volume/{iscsi,fc}.
// Invariants: set-up and release of one disk never overlap; nothing is attached before its place is on disk; user data is never
// removed.
import type { HostDevices } from '../../api/ports/host-programs.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import { DeviceLocks } from '../devices/device-locks.ts';
import { type VolumeLayout, volumeDevicesDir } from '../layout.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import {
  type ExpandFailureDetails,
  type ExpandRequest,
  pluginDefaults,
  type SetUpFailureDetails,
  type SetUpRequest,
  type SetUpVolume,
  type VolumeOnDisk,
  type VolumePlugin,
  type VolumeSpec,
} from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';
import { type BlockDeviceDeps, rescanSize } from './block-devices.ts';
import type { DiskKind, DiskPlace, DiskRecord, DiskSource, FoundDisk } from './disk-kind.ts';
import { DiskRecords, nameOf } from './disk-records.ts';
import { releaseDisk, unlinkedDevices } from './disk-release.ts';

export interface DiskPluginDeps extends OwnershipDeps, BlockDeviceDeps {
  readonly devices: HostDevices;
  readonly layout: VolumeLayout;
}

/** As upstream's wait for a device. It has no deadline for the commands. */
const attachTimeoutMs = 600_000;

export function diskPlugin<P extends DiskPlace>(deps: DiskPluginDeps, kind: DiskKind<P>): VolumePlugin {
  const { devices, host, layout } = deps;
  const disks = new Disks(deps, kind);
  return {
    ...pluginDefaults,
    name: kind.name,
    // Making a file system, checking it and applying the fsGroup take a time that depends on the disk.
    deadlineMs: Number.POSITIVE_INFINITY,
    canServe: (spec) => kind.sourceOf(spec) !== undefined,
    deviceKey: (spec) => kind.attachName(spec),
    attachName: (spec) => kind.attachName(spec),
    setUp: (request, signal) => disks.setUp(request, signal),
    async tearDown({ path }) {
      await host.unmount(path);
      await host.removeEmpty(path);
    },
    stats: async (path) => await mountedStats(host, path),
    block: {
      setUp: (request, signal) => disks.setUpDevice(request, signal),
      tearDown: () => Promise.resolve(),
      findUnlinked: (uid) => unlinkedDevices({ devices, host, kind, layout }, uid),
    },
    nodeDevices: {
      keyOf: (volume) => disks.keyOf(volume),
      list: async () => [...new Set((await disks.records.list()).map(nameOf))],
      release: (key, signal) => disks.release(key, signal),
      attachName: (key) => key,
    },
    expansion: { expand: (request, signal) => disks.expand(request, signal) },
  };
}

class Disks<P extends DiskPlace> {
  readonly records: DiskRecords<P>;
  readonly #deps: DiskPluginDeps;
  readonly #kind: DiskKind<P>;
  /** By place. The caller's locks are by name, and two persistent volumes may name one disk differently. */
  readonly #locks = new DeviceLocks();

  constructor(deps: DiskPluginDeps, kind: DiskKind<P>) {
    this.#deps = deps;
    this.#kind = kind;
    this.records = new DiskRecords(deps.host, kind);
  }

  async setUp(request: SetUpRequest, signal: AbortSignal): Promise<SetUpVolume> {
    const { host } = this.#deps;
    const { path, spec } = request;
    const { readOnly } = this.#source(spec);
    const place = this.#kind.placeOf(spec);
    const isMounted = await this.#isMounted(path);
    if (!isMounted)
      await this.#locks.run(place.path, signal, async () => {
        await this.#mountDisk(request, place, signal);
        await host.makeDirectory(path, 0o750);
        try {
          await host.bind(place.path, path, { readOnly });
        } catch (err) {
          await host.removeEmpty(path);
          throw err;
        }
      });
    // The walk changes the root last. A root with another group means that an interrupted walk has to be completed, unless
    // another pod has set its own.
    const isShared = isMounted && (await host.mountReferences(path)).length > 1;
    const onlyOnRootMismatch = isMounted || request.owner.onlyOnRootMismatch;
    if (!readOnly && !isShared)
      await applyFsGroup(this.#deps, request, { readOnly, onlyOnRootMismatch }, signal);
    return { location: { kind: 'path', path }, readOnly, managed: !readOnly };
  }

  async setUpDevice(request: SetUpRequest, signal: AbortSignal): Promise<string> {
    this.#source(request.spec);
    const place = this.#kind.placeOf(request.spec);
    return await this.#locks.run(place.path, signal, async () => await this.#attach(request, place, signal));
  }

  async keyOf(volume: VolumeOnDisk): Promise<string | undefined> {
    const all = await this.records.list();
    const devicesDir = volumeDevicesDir(this.#deps.layout, volume.uid);
    if (volume.path.startsWith(`${devicesDir}/`)) {
      for (const disk of all) if (await this.#mayHaveMapped(disk, volume)) return nameOf(disk);
      return undefined;
    }
    const references = await this.#deps.host.mountReferences(volume.path);
    // The mount table has real paths; the plugins' directory may be reached through a link.
    const { pluginsDir } = this.#deps.layout;
    const below = (path: string): string => path.slice(pluginsDir.lastIndexOf('/'));
    const disk = all.find(({ place }) => references.some((each) => each.endsWith(below(place.path))));
    return disk === undefined ? undefined : nameOf(disk);
  }

  async release(key: string, signal: AbortSignal): Promise<void> {
    const { devices, host, layout, programs } = this.#deps;
    const deps = { devices, host, layout, programs, kind: this.#kind, records: this.records };
    for (const disk of await this.records.list())
      if (nameOf(disk) === key || this.#kind.isNameOf(disk.place, key))
        await this.#locks.run(disk.place.path, signal, () => releaseDisk(deps, disk, signal));
  }

  /** differs from upstream: the file system grows online when the persistent volume's capacity does; upstream never resizes it. */
  async expand({ spec, sizeBytes }: ExpandRequest, signal: AbortSignal): Promise<bigint> {
    const { devices, host } = this.#deps;
    const place = this.#kind.placeOf(spec);
    try {
      const disk = { place, record: await this.records.read(place) };
      await rescanSize(this.#deps, await this.#kind.devicesOf(disk), signal);
      if (!spec.isBlock) {
        const device = await devices.mountedDevice(place.path);
        if (device === undefined)
          throw new KubeletError('conflict', 'NotMounted', `${place.path} is not mounted`);
        await host.growFileSystem({ device, mountPath: place.path }, signal);
      }
      return sizeBytes;
    } catch (err) {
      signal.throwIfAborted();
      const details: ExpandFailureDetails = { expansion: 'final' };
      const errorKind = err instanceof KubeletError ? err.kind : 'internal';
      throw new KubeletError(errorKind, 'ExpandFailed', describeError(err), {
        cause: err,
        details: { ...details },
      });
    }
  }

  async #mountDisk(request: SetUpRequest, place: P, signal: AbortSignal): Promise<void> {
    const { spec } = request;
    const { fsType, readOnly } = this.#source(spec);
    if ((await this.#deps.devices.mountedDevice(place.path)) !== undefined) {
      // An earlier kubelet may have kept no record.
      await this.records.add(place, this.#recordOf(spec, place));
      return;
    }
    const device = await this.#attach(request, place, signal);
    const options = [...new Set(spec.mountOptions)].filter((each) => each.trim() !== '').sort();
    await inStep('MountDevice', signal, () =>
      this.#deps.host.mountDevice({ device, target: place.path, fsType, options, readOnly }, signal),
    );
  }

  async #attach({ pod, spec }: SetUpRequest, place: P, signal: AbortSignal): Promise<string> {
    await this.#deps.host.makeDirectory(place.path, 0o750);
    await this.records.add(place, this.#recordOf(spec, place));
    const namespace = pod.metadata?.namespace ?? '';
    const { clock } = this.#deps;
    const what = `attaching ${this.#kind.attachName(spec)}`;
    return await inStep('WaitForAttach', signal, () =>
      withDeadline({ clock, ms: attachTimeoutMs, signal, what }, (within) =>
        this.#kind.attach({ spec, place, namespace }, within),
      ),
    );
  }

  #recordOf(spec: VolumeSpec, place: P): DiskRecord {
    const attachName = this.#kind.attachName(spec) ?? place.derivedName;
    return { attachName, volumes: [spec.directoryName], identifiers: this.#kind.identifiersOf(spec) };
  }

  async #isMounted(path: string): Promise<boolean> {
    return (await this.#deps.host.mountsBelow(path)).some((mount) => mount.path === path);
  }

  async #mayHaveMapped({ place, record }: FoundDisk<P>, volume: VolumeOnDisk): Promise<boolean> {
    if (!place.isBlock) return false;
    if (record !== undefined) return record.volumes.includes(volume.directoryName);
    if ((await this.#kind.volumesOf(place)).includes(volume.directoryName)) return true;
    return (await this.#deps.devices.list(place.path)).includes(volume.uid);
  }

  #source(spec: VolumeSpec): DiskSource {
    const source = this.#kind.sourceOf(spec);
    if (source !== undefined) return source;
    throw new KubeletError('invalid', 'FailedMount', 'no volume plugin matched');
  }
}

/** Names the step that failed, for the event, unless the error already does. */
async function inStep<T>(
  step: SetUpFailureDetails['step'],
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof KubeletError && err.details['step'] !== undefined) throw err;
    const details: SetUpFailureDetails = { step };
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const reason = isKind(err, 'invalid') && err instanceof KubeletError ? err.reason : 'FailedMount';
    throw new KubeletError(kind, reason, describeError(err), { cause: err, details: { ...details } });
  }
}
