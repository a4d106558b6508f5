// Releases a disk that no pod uses: unmounts it, detaches it and removes its directory.
// Upstream: UnmountDevice of attacher.go, DetachDisk and DetachBlock…Disk.
// Invariant: a disk that is still mounted or mapped anywhere else is left alone, and reported.
import type { HostDevices, HostPrograms } from '../../api/ports/host-programs.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { deviceMap, pluginDirName, type VolumeLayout, volumeDevicesDir } from '../layout.ts';
import type { DiskKind, DiskPlace, FoundDisk } from './disk-kind.ts';
import type { DiskRecords } from './disk-records.ts';

/** Bound for mounts stacked on one path. */
const maxLayers = 16;
const unmountTimeoutMs = 600_000;

interface DiskReleaseDeps<P extends DiskPlace> {
  readonly host: VolumeHost;
  readonly devices: HostDevices;
  readonly programs: HostPrograms;
  readonly layout: VolumeLayout;
  readonly kind: DiskKind<P>;
  readonly records: DiskRecords<P>;
}

export async function releaseDisk<P extends DiskPlace>(
  deps: DiskReleaseDeps<P>,
  disk: FoundDisk<P>,
  signal: AbortSignal,
): Promise<void> {
  const { devices, host, kind, records } = deps;
  const { place } = disk;
  if (place.isBlock) await unmapLeftovers(deps, disk, signal);
  else await checkReferences(host, place);
  const device = place.isBlock ? undefined : await devices.mountedDevice(place.path);
  if (!place.isBlock) await unmountDisk(deps, place, signal);
  const others = async (): Promise<readonly FoundDisk<P>[]> =>
    (await records.list()).filter((each) => each.place.path !== place.path);
  try {
    await kind.detach({ ...disk, others, device }, signal);
  } catch (err) {
    signal.throwIfAborted();
    const errorKind = err instanceof KubeletError ? err.kind : 'internal';
    const protocol = kind.name.slice(kind.name.indexOf('/') + 1);
    const message = `${protocol}: failed to detach disk: ${place.path}\nError: ${describeError(err)}`;
    throw new KubeletError(errorKind, 'FailedDetach', message, { cause: err });
  }
  await records.remove(place);
  await kind.removed?.(place);
}

/**
 * Writes what the kernel still holds for the file system, so that it waits for a disk that does not respond: in a process of its
 * own, and never lazily, since the disk is detached next.
 */
async function unmountDisk<P extends DiskPlace>(
  { devices, programs }: DiskReleaseDeps<P>,
  { path }: DiskPlace,
  signal: AbortSignal,
): Promise<void> {
  for (let layer = 0; layer < maxLayers; layer++) {
    if ((await devices.mountedDevice(path)) === undefined) return;
    const run = { program: 'umount', args: ['--', path], timeoutMs: unmountTimeoutMs };
    const { code, stderr } = await programs.run(run, signal);
    if (code !== 0)
      throw new KubeletError(
        'conflict',
        'UnmountFailed',
        `cannot unmount ${path}: ${stderr.trim().slice(0, 2_000)}`,
      );
  }
}

async function checkReferences(host: VolumeHost, { path }: DiskPlace): Promise<void> {
  const others = await host.mountReferences(path);
  if (others.length === 0) return;
  throw new KubeletError(
    'conflict',
    'DeviceInUse',
    `the device mount path "${path}" is still mounted by other references [${others.join(' ')}]`,
  );
}

/** The names of a pod's devices that are mapped but not linked in its directory: an interrupted call left them. */
export async function unlinkedDevices<P extends DiskPlace>(
  { devices, host, kind, layout }: Omit<DiskReleaseDeps<P>, 'records' | 'programs'>,
  uid: string,
): Promise<readonly string[]> {
  const linked = new Set(
    await host.listLinks(`${volumeDevicesDir(layout, uid)}/${pluginDirName(kind.name)}`),
  );
  const names: string[] = [];
  for (const name of await host.listDirectories(mapsDir(layout, kind.name)))
    if (!linked.has(name) && (await devices.list(`${mapsDir(layout, kind.name)}/${name}`)).includes(uid))
      names.push(name);
  return names;
}

/** Removes the mappings of pods that no longer exist: those of upstream are in the place itself. */
async function unmapLeftovers<P extends DiskPlace>(
  { devices, host, kind, layout }: DiskReleaseDeps<P>,
  { place, record }: FoundDisk<P>,
  signal: AbortSignal,
): Promise<void> {
  const names = new Set([...(record?.volumes ?? []), ...(await kind.volumesOf(place))].filter(isName));
  const maps = [...names].map((name) => ({ name, dir: `${mapsDir(layout, kind.name)}/${name}` }));
  for (const { name, dir } of [...maps, { name: undefined, dir: place.path }])
    for (const uid of (await devices.list(dir)).filter(
      (each) => isName(each) && !kind.files.includes(each),
    )) {
      const linked = await host.listLinks(`${volumeDevicesDir(layout, uid)}/${pluginDirName(kind.name)}`);
      // Upstream's mapping in the place does not name the volume: any device of the pod may be this one.
      if (name === undefined ? linked.length > 0 : linked.includes(name))
        throw new KubeletError(
          'conflict',
          'DeviceInUse',
          `the device at ${place.path} is still mapped by pod ${uid}`,
        );
      const { link } = deviceMap(layout, uid, kind.name, name ?? 'unknown');
      await host.unmapDevice({ link, target: `${dir}/${uid}` }, signal);
    }
}

function mapsDir({ pluginsDir }: VolumeLayout, plugin: string): string {
  return `${pluginsDir}/${pluginDirName(plugin)}/volumeDevices`;
}

function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0');
}
