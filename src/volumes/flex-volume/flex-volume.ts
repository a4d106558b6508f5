// FlexVolumes: volumes that an executable of the node mounts. One plugin serves the drivers of all vendors, which may be installed
// and removed while the kubelet runs. Upstream: pkg/volume/flexvolume, where each driver is a plugin.
// Invariants: on disk a volume belongs to its driver, not to this plugin; a driver is called only as it is installed now.
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Subscribable } from '../../base/channel.ts';
import { type NodeDevices, pluginDefaults, type VolumePlugin, type VolumeSpec } from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';
import {
  deviceKeyOf,
  deviceOfKey,
  directoryOfDriver,
  driverAt,
  driverOfDirectory,
  isDriverName,
  isKubernetesName,
} from './driver-name.ts';
import { flexSource } from './driver-options.ts';
import type { FlexDrivers } from './drivers.ts';
import { expandVolume } from './expand.ts';
import { GlobalMounts } from './global-mounts.ts';
import { FlexPodMounts, type PodMountsDeps } from './pod-mounts.ts';

interface FlexVolumeDeps extends PodMountsDeps {
  readonly drivers: Pick<FlexDrivers, 'lastKnown' | 'missing' | 'use'> & {
    readonly changed: Subscribable<string>;
  };
}

/** Deadline for the server of a volume to respond before its file system is measured. */
const serverTimeoutMs = 2_000;

export function flexVolumePlugin(deps: FlexVolumeDeps): VolumePlugin {
  const { clock, drivers, host } = deps;
  const globals = new GlobalMounts(deps);
  const pods = new FlexPodMounts(deps, globals);
  const driverOf = (spec: VolumeSpec): string => flexSource(spec)?.driver ?? '';
  const capabilities = (spec: VolumeSpec) => drivers.lastKnown(driverOf(spec))?.capabilities;
  const keyOf = (spec: VolumeSpec): string | undefined =>
    capabilities(spec)?.attach === true
      ? deviceKeyOf({ driver: driverOf(spec), volume: spec.directoryName })
      : undefined;
  return {
    ...pluginDefaults,
    name: 'kubernetes.io/flexvolume',
    // The driver may mount the file system of a server.
    isRemote: true,
    // Each call-out has its own deadline, and the fsGroup may have to be applied to millions of files.
    deadlineMs: Number.POSITIVE_INFINITY,
    label: driverOf,
    canServe: (spec) => flexSource(spec) !== undefined,
    directoryOf: (spec) => directoryOfDriver(driverOf(spec)),
    servesDirectory(directory) {
      const name = driverOfDirectory(directory);
      return isDriverName(name) && (!isKubernetesName(name) || drivers.lastKnown(name) !== undefined);
    },
    deviceKey: keyOf,
    attachName: keyOf,
    prerequisite: { missing: (spec) => drivers.missing(driverOf(spec)), changed: drivers.changed },
    nodeDevices: nodeDevices(deps, globals),
    expansion: {
      applies: (spec) => spec.persistent !== undefined && capabilities(spec)?.requiresFSResize !== false,
      expand: (request, signal) => expandVolume({ ...deps, globals }, request, signal),
    },
    setUp: (request, signal) => pods.setUp(request, signal),
    tearDown: (volume, signal) => pods.tearDown(volume, signal),
    async stats(path, signal) {
      if (drivers.lastKnown(driverAt(path))?.capabilities.supportsMetrics !== true) return undefined;
      const isResponsive = await withDeadline(
        { clock, ms: serverTimeoutMs, signal, what: `wait for the server of ${path}` },
        async (within) => await host.isResponsive(path, within),
      ).catch(() => false);
      return isResponsive ? await mountedStats(host, path) : undefined;
    },
  };
}

function nodeDevices({ drivers }: Pick<FlexVolumeDeps, 'drivers'>, globals: GlobalMounts): NodeDevices {
  return {
    async keyOf({ directoryName, path }) {
      const device = { driver: driverAt(path), volume: directoryName };
      // A driver may have been removed, so its global mount counts, not what is known of the driver.
      return isDriverName(device.driver) && (await globals.exists(device)) ? deviceKeyOf(device) : undefined;
    },
    list: () => globals.list(),
    release: (key, signal) => globals.release(key, signal),
    attachName: (key) =>
      drivers.lastKnown(deviceOfKey(key).driver)?.capabilities.attach === false ? undefined : key,
    label: (key) => deviceOfKey(key).driver,
  };
}
