// Block devices of pods, and the tear-down of volumes that share a device with other pods.
// Upstream: MapVolume and UnmapVolume of the operation executor.
import { dirname } from 'node:path';
import type { EventText } from '../../api/ports/events.ts';
import { KubeletError } from '../../base/errors.ts';
import { deviceMap } from '../layout.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import type { SetUpRequest, SetUpVolume, VolumeOnDisk, VolumePlugin } from '../plugin.ts';

type MapDeps = Pick<VolumeOperationDeps, 'host' | 'layout'>;

export async function setUpDevice(
  deps: MapDeps,
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
  const volume = { uid: pod.metadata?.uid ?? '', directoryName: spec.directoryName };
  const map = mapOf(deps, plugin, volume);
  await deps.host.mapDevice(device, map, signal);
  return { location: { kind: 'device', path: map.link }, readOnly: spec.readOnly, managed: false };
}

/** Of a device that was mapped. */
export function mappedEvents(
  deps: Pick<MapDeps, 'layout'>,
  plugin: VolumePlugin,
  { pod, spec: { directoryName } }: Pick<SetUpRequest, 'pod' | 'spec'>,
): readonly EventText[] {
  const { link, target } = mapOf(deps, plugin, { uid: pod.metadata?.uid ?? '', directoryName });
  const what = `MapVolume.MapPodDevice succeeded for volume "${directoryName}"`;
  const paths = [`globalMapPath "${dirname(target)}"`, `volumeMapPath "${dirname(link)}"`];
  return paths.map((path) => ({
    type: 'Normal',
    reason: 'SuccessfulMountVolume',
    message: `${what} ${path}`,
  }));
}

export async function tearDownDevice(
  deps: MapDeps,
  plugin: VolumePlugin,
  volume: VolumeOnDisk,
  signal: AbortSignal,
): Promise<void> {
  await deps.host.unmapDevice(mapOf(deps, plugin, volume), signal);
  await plugin.block?.tearDown(volume, signal);
}

/** Runs the tear-down of a pod's volume under the lock of its device, which it then no longer uses. Returns the device's key. */
export async function tearDownWithDevice(
  { locks, users }: Pick<VolumeOperationDeps, 'locks' | 'users'>,
  plugin: VolumePlugin,
  volume: VolumeOnDisk,
  signal: AbortSignal,
  tearDown: () => Promise<void>,
): Promise<string | undefined> {
  const key = users.keyOf(volume.path) ?? (await plugin.nodeDevices?.keyOf(volume));
  await locks.run(key, signal, async () => {
    await tearDown();
    if (key !== undefined) users.remove(key, volume.path);
  });
  return key;
}

function mapOf(
  { layout }: Pick<MapDeps, 'layout'>,
  plugin: VolumePlugin,
  volume: Pick<VolumeOnDisk, 'uid' | 'directoryName'>,
): ReturnType<typeof deviceMap> {
  return plugin.block?.map?.(volume) ?? deviceMap(layout, volume.uid, plugin.name, volume.directoryName);
}
