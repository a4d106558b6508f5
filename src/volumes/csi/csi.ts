// The csi plugin: volumes of CSI drivers, persistent ones and those defined in a pod's spec. Upstream: pkg/volume/csi.
// Invariants: before a driver is called, its volume is on disk in vol_data.json, so that whatever a driver may have mounted is
// found and unmounted by this process or the next; a call that may still be in progress is repeated or undone, never forgotten.
import { mergeChannels } from '../../base/channel.ts';
import { describeError } from '../../base/errors.ts';
import { type Attachment, pluginDefaults, type VolumePlugin, type VolumeSpec } from '../plugin.ts';
import { computeAttachFailure } from './compute-attachment.ts';
import { driverOf, idOf, isCsi } from './csi-volume.ts';
import type { CsiContext, CsiPluginDeps } from './deps.ts';
import { DriverCalls } from './driver-calls.ts';
import { expandVolume } from './expand.ts';
import { KnownVolumes } from './known-volumes.ts';
import { attachmentName, csiPluginName, driverLabel, uniqueName } from './names.ts';
import { csiNodeDevices, isAttached, labelOnDisk } from './node-devices.ts';
import { csiDeviceMap } from './paths.ts';
import { readStats } from './read-stats.ts';
import { setUpBlock } from './set-up-block.ts';
import { setUpMount } from './set-up-mount.ts';
import { findUnlinked, tearDownBlock } from './tear-down-block.ts';
import { reconstructMount, tearDownMount } from './tear-down-mount.ts';

export function csiPlugin(deps: CsiPluginDeps): VolumePlugin {
  const { drivers, layout, storage } = deps;
  const context: CsiContext = {
    ...deps,
    known: new KnownVolumes(),
    calls: new DriverCalls(deps.ownership.clock),
  };
  return {
    ...pluginDefaults,
    name: csiPluginName,
    // Calls of drivers and the API server have their own deadlines. Applying the fsGroup may have to change millions of files.
    deadlineMs: Number.POSITIVE_INFINITY,
    // Many drivers mount the file systems of servers.
    isRemote: true,
    supportsMountOptions: true,
    canServe: isCsi,
    deviceKey: keyOfSpec,
    attachName: (spec) => (isAttached(context, idOf(spec)) ? keyOfSpec(spec) : undefined),
    label: (spec) => driverLabel(driverOf(spec) ?? 'unknown'),
    labelOnDisk: async (volume) => await labelOnDisk(context, volume),
    needsRefresh(spec) {
      const object = storage.knownCsiDriver(driverOf(spec) ?? '');
      return object !== undefined && object !== 'unknown' && object.spec.requiresRepublish === true;
    },
    prerequisite: {
      missing(spec) {
        const driver = driverOf(spec) ?? '';
        return drivers.get(driver) === undefined ? `the CSI driver ${driver} to register` : undefined;
      },
      // Whether a driver's volumes are attached is known from its CSIDriver.
      changed: mergeChannels<unknown>(drivers.changed, storage.csiDriversChanged),
    },
    attachment: csiAttachment(context),
    expansion: {
      applies: ({ persistent }) => persistent !== undefined,
      expand: async (request, signal) => await expandVolume(context, request, signal),
    },
    block: {
      setUp: async (request, signal) => await setUpBlock(context, request, signal),
      tearDown: async (volume, signal) => await tearDownBlock(context, volume, signal),
      map: ({ directoryName, uid }) => csiDeviceMap(layout, uid, directoryName),
      findUnlinked: async (uid) => await findUnlinked(context, uid),
      stats: async (path, signal) => await readStats(context, path, signal),
    },
    nodeDevices: csiNodeDevices(context),
    activities: (uid) => context.calls.activities(uid),
    setUp: async (request, signal) => await setUpMount(context, request, signal),
    tearDown: async (volume, signal) => await tearDownMount(context, volume, signal),
    reconstruct: async (volume) => await reconstructMount(context, volume),
    stats: async (path, signal) => await readStats(context, path, signal),
  };
}

function keyOfSpec(spec: VolumeSpec): string | undefined {
  const id = idOf(spec);
  return id === undefined ? undefined : uniqueName(id);
}

function csiAttachment({ drivers, nodeName, ownership, storage }: CsiContext): Attachment {
  return {
    async failure(spec, signal) {
      const id = idOf(spec);
      if (id === undefined) return undefined;
      const name = attachmentName(id, nodeName);
      const { driver, handle } = id;
      try {
        const attachment = await storage.volumeAttachment(name, signal);
        const object = storage.knownCsiDriver(driver);
        const known = object === 'unknown' ? undefined : object;
        const failure = computeAttachFailure(attachment, { handle, name }, known);
        // The scheduler learns the limit from the CSINode; the pod does not wait for that.
        if (failure?.isLimit === true)
          drivers.refreshAllocatable(driver).catch((err: unknown) => {
            ownership.log.warn('Failed to refresh the volume limit of a CSI driver', { driver, err });
          });
        return failure;
      } catch (err) {
        if (signal.aborted) throw err;
        const message = `volume ${handle} has GET error for volume attachment ${name}: ${describeError(err)}`;
        return { message, isLimit: false };
      }
    },
  };
}
