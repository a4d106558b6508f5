// Volumes that containers get as a device, and what kinds of volume make once per node for all its pods.
// Upstream: MapVolume, UnmapVolume, UnmapDevice and UnmountDevice of the operation executor.
// Invariant: what the node's pods share is ended only when no pod's directory belongs to it any more, told from disk, and never
// while one is being set up: both go through the key of the device.
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
      `no volume plugin matched: ${plugin.name} has no devices`,
    );
  const device = await plugin.block.setUp(request, signal);
  const map = deviceMap(layout, pod.metadata?.uid ?? '', plugin.name, spec.directoryName);
  await host.mapDevice(device, map, signal);
  return { place: { kind: 'device', path: map.link }, readOnly: spec.readOnly, managed: false };
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

/** Runs the tear-down of a pod's volume; when it was the last of its device, the device is let go of, too. */
export async function withNodeStep(
  deps: DeviceStepsDeps,
  plugin: VolumePlugin,
  volume: VolumeOnDisk,
  signal: AbortSignal,
  tearDown: () => Promise<void>,
): Promise<void> {
  const key = await plugin.node?.keyOf(volume);
  await deps.locks.run(key, signal, async () => {
    await tearDown();
    if (key !== undefined) await releaseUnheld(deps, plugin, key, signal);
  });
}

/** Releases every device of this node that no pod's volume uses. */
export async function releaseUnusedDevices(
  deps: DeviceStepsDeps & Pick<VolumeOperationDeps, 'plugins'>,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of deps.plugins)
    for (const key of (await plugin.node?.known()) ?? [])
      await deps.locks.run(key, signal, () => releaseUnheld(deps, plugin, key, signal));
}

async function releaseUnheld(
  deps: DeviceStepsDeps,
  plugin: VolumePlugin,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isHeld(deps, plugin, key))) await plugin.node?.release(key, signal);
}

async function isHeld(deps: DeviceStepsDeps, plugin: VolumePlugin, key: string): Promise<boolean> {
  for (const uid of await deps.host.listDirectories(deps.layout.podsDir))
    for (const volume of await volumesOf(deps, plugin, uid))
      if ((await plugin.node?.keyOf(volume)) === key) return true;
  return false;
}

/** Of one kind, as directories and as devices. */
async function volumesOf(
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
