// The mounts of devices by FlexVolume drivers, one per device for all pods of the node.
// Upstream: attacher.go, detacher.go and their defaults in pkg/volume/flexvolume.
// Invariants: a device is mounted once; one whose mount was interrupted is unmounted and mounted again; a device is unmounted
// only when nothing but its global mount refers to it. The caller holds the lock of the device.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { VolumeLayout } from '../layout.ts';
import type { SetUpFailureDetails, SetUpRequest, VolumeSpec } from '../plugin.ts';
import { callDriver, type FlexDriver } from './driver-call.ts';
import {
  deviceKeyOf,
  deviceOfKey,
  type FlexDevice,
  globalMountDir,
  globalMountsRoot,
  isDriverName,
} from './driver-name.ts';
import { driverOptions, type FlexSource } from './driver-options.ts';
import { isMounted, type UndoDeps, undoMount } from './undo.ts';

export interface GlobalMountsDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
  readonly drivers: UndoDeps['drivers'];
  readonly programs: Pick<HostPrograms, 'run'>;
  /** Not enableControllerAttachDetach: the kubelet attaches and detaches. */
  readonly attach: { readonly isByKubelet: boolean; readonly nodeName: string };
  readonly log: Logger;
}

/** Upstream: waitForAttachTimeout. */
const attachTimeoutMs = 600_000;
const deepestDriver = 4;

export class GlobalMounts {
  readonly #deps: GlobalMountsDeps;
  /** Paths whose mount did not succeed, or is in flight. */
  readonly #unfinished = new Set<string>();
  /** The device paths that waitforattach returned, by device. */
  readonly #devicePaths = new Map<string, string>();
  /** The device paths that attach returned, by device. */
  readonly #attached = new Map<string, string>();
  /** The options of mounted volumes of pods' specs, by device. */
  readonly #options = new Map<string, string>();

  constructor(deps: GlobalMountsDeps) {
    this.#deps = deps;
  }

  /** Attaches the device and mounts it, unless it is mounted. */
  async mount(
    driver: FlexDriver,
    source: FlexSource,
    request: Pick<SetUpRequest, 'devicePath' | 'spec'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { host, layout, programs } = this.#deps;
    const { spec } = request;
    const device = { driver: driver.name, volume: spec.directoryName };
    const path = globalMountDir(layout, device);
    await this.#checkName(driver, driverOptions(source, spec), signal);
    const isPresent = (await isMounted(host, path)) && !this.#unfinished.has(path);
    if (isPresent) this.#checkOptions(device, source, spec);
    const devicePath = await inStep('WaitForAttach', signal, () =>
      this.#waitForDevice(driver, source, request, signal),
    );
    if (isPresent) return;
    await inStep('MountDevice', signal, async () => {
      if (await isMounted(host, path)) await this.#unmount(device, signal);
      await host.makeDirectory(path, 0o750);
      this.#unfinished.add(path);
      const args = [path, devicePath, driverOptions(source, spec)];
      const answer = await callDriver(programs, driver, { command: 'mountdevice', args }, signal);
      // A driver without devices to attach need not mount any.
      if (answer === undefined && devicePath !== '')
        await this.#mountDefault(device, devicePath, source, signal);
    });
    this.#unfinished.delete(path);
    if (spec.persistent === undefined) this.#options.set(deviceKeyOf(device), comparable(source, spec));
  }

  /** The device's path as the driver reported it last; calls the driver if this process has not done so yet. */
  async devicePath(
    driver: FlexDriver,
    source: FlexSource,
    request: Pick<SetUpRequest, 'devicePath' | 'spec'>,
    signal: AbortSignal,
  ): Promise<string> {
    const key = deviceKeyOf({ driver: driver.name, volume: request.spec.directoryName });
    return this.#devicePaths.get(key) ?? (await this.#waitForDevice(driver, source, request, signal));
  }

  /** The keys of all devices that have a directory. */
  async list(): Promise<readonly string[]> {
    return await this.#listBelow('', 0);
  }

  /** Does not touch the mount, whose server may be unresponsive. */
  async exists(device: FlexDevice): Promise<boolean> {
    const path = globalMountDir(this.#deps.layout, device);
    const names = await this.#deps.host.listDirectories(path.slice(0, path.lastIndexOf('/')));
    return names.includes(device.volume);
  }

  async release(key: string, signal: AbortSignal): Promise<void> {
    const { attach, host, layout } = this.#deps;
    const device = deviceOfKey(key);
    const path = globalMountDir(layout, device);
    await this.#checkReferences(device, path);
    if (await isMounted(host, path)) await this.#unmount(device, signal);
    if (attach.isByKubelet) await this.#detach(device, path, signal);
    await host.removeEmptyOfPlugin(path);
    this.#unfinished.delete(path);
    this.#devicePaths.delete(key);
    this.#attached.delete(key);
    this.#options.delete(key);
  }

  /** The name that a driver returns is ignored, as upstream does; but it may refuse the volume here. */
  async #checkName(driver: FlexDriver, options: string, signal: AbortSignal): Promise<void> {
    try {
      await callDriver(this.#deps.programs, driver, { command: 'getvolumename', args: [options] }, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `GetVolumeName failed from getDeviceMountPath: ${describeError(err)}`;
      throw new KubeletError(kind, 'DriverFailed', message, { cause: err });
    }
  }

  // differs from upstream, which gives the second pod the files of the first: volumes of pods' specs have the same device if
  // they have the same name.
  #checkOptions(device: FlexDevice, source: FlexSource, spec: VolumeSpec): void {
    const key = deviceKeyOf(device);
    const mounted = this.#options.get(key);
    if (spec.persistent !== undefined || mounted === undefined || mounted === comparable(source, spec))
      return;
    const message = `another pod of this node has a volume "${device.volume}" of FlexVolume driver ${device.driver} mounted, with other options`;
    throw new KubeletError('conflict', 'FailedMount', message);
  }

  async #waitForDevice(
    driver: FlexDriver,
    source: FlexSource,
    { devicePath = '', spec }: Pick<SetUpRequest, 'devicePath' | 'spec'>,
    signal: AbortSignal,
  ): Promise<string> {
    const { attach, programs } = this.#deps;
    const options = driverOptions(source, spec);
    const key = deviceKeyOf({ driver: driver.name, volume: spec.directoryName });
    let path = this.#attached.get(key) ?? devicePath;
    if (attach.isByKubelet && !this.#attached.has(key)) {
      const args = [options, attach.nodeName];
      path = (await callDriver(programs, driver, { command: 'attach', args }, signal))?.device ?? '';
      this.#attached.set(key, path);
    }
    const call = { command: 'waitforattach', args: [path, options], timeoutMs: attachTimeoutMs } as const;
    path = (await callDriver(programs, driver, call, signal))?.device ?? path;
    this.#devicePaths.set(key, path);
    return path;
  }

  async #mountDefault(
    device: FlexDevice,
    devicePath: string,
    { fsType, readOnly }: FlexSource,
    signal: AbortSignal,
  ): Promise<void> {
    if (!devicePath.startsWith('/'))
      throw new KubeletError(
        'invalid',
        'FailedMount',
        `FlexVolume driver ${device.driver} does not support mountdevice, and its device ${JSON.stringify(devicePath)} is not a path`,
      );
    const target = globalMountDir(this.#deps.layout, device);
    await this.#deps.host.mountDevice({ device: devicePath, target, fsType, options: [], readOnly }, signal);
  }

  async #unmount(device: FlexDevice, signal: AbortSignal): Promise<void> {
    const { host, layout } = this.#deps;
    const path = globalMountDir(layout, device);
    const unmount = async (): Promise<void> => await host.unmountDevice(path);
    const isEnough = (): Promise<boolean> => Promise.resolve(false);
    const undo = { driver: device.driver, command: 'unmountdevice', path, unmount, isEnough } as const;
    await undoMount(this.#deps, undo, signal);
    if (await isMounted(host, path))
      throw new KubeletError('conflict', 'EBUSY', `${path} is still mounted after unmountdevice`);
  }

  async #detach(device: FlexDevice, path: string, signal: AbortSignal): Promise<void> {
    const { attach, drivers, programs } = this.#deps;
    const { driver: name, volume } = device;
    if (drivers.lastKnown(name)?.capabilities.attach === false) return;
    if (!(await this.exists(device)) && !this.#devicePaths.has(deviceKeyOf(device))) return;
    const driver = await drivers.use(name, signal).catch((err: unknown) => {
      if (signal.aborted) throw err;
      const message = `the device of ${path} stays attached until FlexVolume driver ${name} can be called: ${describeError(err)}`;
      throw new KubeletError('unavailable', 'DriverUnavailable', message, { cause: err });
    });
    if (!driver.capabilities.attach) return;
    await callDriver(programs, driver, { command: 'detach', args: [volume, attach.nodeName] }, signal);
  }

  async #checkReferences({ volume }: FlexDevice, path: string): Promise<void> {
    // The same mount seen through another mount of the kubelet's root directory ends alike.
    const own = path.slice(path.indexOf('/plugins/kubernetes.io/'));
    const others = (await this.#deps.host.mountReferences(path)).filter((other) => !other.includes(own));
    if (others.length === 0) return;
    const message = `GetDeviceMountRefs check failed for volume "${volume}" : the device mount path "${path}" is still mounted by other references [${others.join(' ')}]`;
    throw new KubeletError('conflict', 'FailedUnmount', message);
  }

  async #listBelow(driver: string, depth: number): Promise<readonly string[]> {
    const { host, layout } = this.#deps;
    if (depth > deepestDriver) return [];
    const directory = [globalMountsRoot(layout), ...(driver === '' ? [] : [driver])].join('/');
    const keys: string[] = [];
    for (const child of await host.listDirectories(directory)) {
      const below = driver === '' ? child : `${driver}/${child}`;
      if (child === 'mounts' && driver !== '')
        keys.push(
          ...(await host.listDirectories(`${directory}/mounts`)).map((volume) =>
            deviceKeyOf({ driver, volume }),
          ),
        );
      else if (isDriverName(below)) keys.push(...(await this.#listBelow(below, depth + 1)));
    }
    return keys;
  }
}

/** Pods that share a volume may differ in whether they write to it. */
function comparable(source: FlexSource, spec: VolumeSpec): string {
  return driverOptions({ ...source, readOnly: false }, spec);
}

/** Names the step in the event of a failure. */
async function inStep<T>(
  step: SetUpFailureDetails['step'],
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (err) {
    if (signal.aborted) throw err;
    const { kind, reason } =
      err instanceof KubeletError ? err : { kind: 'internal' as const, reason: 'FailedMount' };
    throw new KubeletError(kind, reason, describeError(err), { cause: err, details: { step } });
  }
}
