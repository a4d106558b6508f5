// Block devices of pods, and the devices and global mounts that all pods of a node share.
// Upstream: MapVolume, UnmapVolume, UnmapDevice and UnmountDevice of the operation executor.
// Invariant: a shared device is released only when no volume directory on disk refers to it, and never while a pod sets it up;
// both operations hold the lock of the device's key.
import { KubeletError } from '../../base/errors.ts';
import { deviceMap, pluginDirName, volumeDevicesDir, volumesDir } from '../layout.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import type { SetUpRequest, SetUpVolume, VolumeOnDisk, VolumePlugin } from '../plugin.ts';

type DeviceStepsDeps = Pick<VolumeOperationDeps, 'host' | 'layout' | 'locks'>;

export async function setUpDevice(
  { host, layout }: DeviceStepsDeps,
  plugin: VolumePlugin,
  request: SetUpRequest,
  signal: AbortSignal,
): Promise<SetUpVolume> {
  const { pod, spec } = request;
  if (plugin.block === undefined)
    throw new KubeletError(
      'invalid',
      'FailedMapVolume',
      `no volume plugin matched: ${plugin.name} does not support block devices`,
    );
  const device = await plugin.block.setUp(request, signal);
  const map = deviceMap(layout, pod.metadata?.uid ?? '', plugin.name, spec.directoryName);
  await host.mapDevice(device, map, signal);
  return { location: { kind: 'device', path: map.link }, readOnly: spec.readOnly, managed: false };
}

export async function tearDownDevice(
  { host, layout }: DeviceStepsDeps,
  plugin: VolumePlugin,
  volume: VolumeOnDisk,
  signal: AbortSignal,
): Promise<void> {
  await host.unmapDevice(deviceMap(layout, volume.uid, plugin.name, volume.directoryName), signal);
  await plugin.block?.tearDown(volume, signal);
}

/** Tears down a pod's volume, then releases its shared device if no other pod uses it. */
export async function tearDownWithDevice(
  deps: DeviceStepsDeps,
  plugin: VolumePlugin,
  volume: VolumeOnDisk,
  signal: AbortSignal,
  tearDown: () => Promise<void>,
): Promise<void> {
  const key = await plugin.nodeDevices?.keyOf(volume);
  await deps.locks.run(key, signal, async () => {
    await tearDown();
    if (key !== undefined) await releaseIfUnused(deps, plugin, key, signal);
  });
}

/** Releases every device of this node that no pod's volume uses. */
export async function releaseUnusedDevices(
  deps: DeviceStepsDeps & Pick<VolumeOperationDeps, 'plugins'>,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of deps.plugins)
    for (const key of (await plugin.nodeDevices?.list()) ?? [])
      await deps.locks.run(key, signal, () => releaseIfUnused(deps, plugin, key, signal));
}

async function releaseIfUnused(
  deps: DeviceStepsDeps,
  plugin: VolumePlugin,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isInUse(deps, plugin, key))) await plugin.nodeDevices?.release(key, signal);
}

async function isInUse(deps: DeviceStepsDeps, plugin: VolumePlugin, key: string): Promise<boolean> {
  for (const uid of await deps.host.listDirectories(deps.layout.podsDir))
    for (const volume of await listVolumes(deps, plugin, uid))
      if ((await plugin.nodeDevices?.keyOf(volume)) === key) return true;
  return false;
}

/** The volumes of one plugin that a pod has on disk, as directories and as devices. */
async function listVolumes(
  { host, layout }: DeviceStepsDeps,
  plugin: VolumePlugin,
  uid: string,
): Promise<readonly VolumeOnDisk[]> {
  const name = pluginDirName(plugin.name);
  const at = (root: string, directoryName: string): VolumeOnDisk => ({
    uid,
    directoryName,
    path: `${root}/${directoryName}`,
  });
  const directories = `${volumesDir(layout, uid)}/${name}`;
  const devices = `${volumeDevicesDir(layout, uid)}/${name}`;
  return [
    ...(await host.listDirectories(directories)).map((each) => at(directories, each)),
    ...(await host.listLinks(devices)).map((each) => at(devices, each)),
  ];
}
