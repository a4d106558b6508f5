// Finds the devices of a Fibre Channel disk, and removes them from the node. Upstream: searchDisk, DetachDisk and
// DetachBlockFCDisk in pkg/volume/fc/fc_util.go.
// Invariants: a multipath device is preferred to its paths; a disk that another volume on this node may use is kept.
import type { HostDevices } from '../../api/ports/host-programs.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import {
  type BlockDeviceDeps,
  deleteDevice,
  deviceName,
  findMultipath,
  flushBuffers,
  flushMultipath,
  pathsOf,
} from '../scsi/block-devices.ts';
import type { DetachRequest } from '../scsi/disk-kind.ts';
import { type FcDisk, type FcPlace, isLinkTo } from './fc-disk.ts';

interface FcDeps extends BlockDeviceDeps {
  readonly clock: Clock;
}

interface Found {
  /** The path of a disk, as /dev/sdb. */
  readonly disk: string;
  readonly multipath: string | undefined;
}

/** How often udev's links are looked for after the scan, and after how long. */
const triesAfterScan = 5;
const retryMs = 1_000;

export async function findFcDisk(deps: FcDeps, disk: FcDisk, signal: AbortSignal): Promise<string> {
  const { clock, devices } = deps;
  const known = (await findLinks(devices, disk)).find((each) => each.multipath !== undefined);
  if (known?.multipath !== undefined) return known.multipath;
  await scanHosts(deps, signal);
  for (let attempt = 1; attempt <= triesAfterScan; attempt++) {
    const found = await findLinks(devices, disk);
    const path = found.find((each) => each.multipath !== undefined)?.multipath ?? found[0]?.disk;
    if (path !== undefined && (await devices.exists(path))) return path;
    // differs from upstream, which fails at once, before udev has made the links.
    if (attempt < triesAfterScan) await clock.sleep(retryMs, signal);
  }
  throw new KubeletError('unavailable', 'FailedAttach', 'no fc disk found');
}

/** In the order of the identifiers. */
async function findLinks(devices: HostDevices, { identifiers, lun }: FcDisk): Promise<readonly Found[]> {
  const directory = lun === undefined ? '/dev/disk/by-id' : '/dev/disk/by-path';
  const names = await devices.list(directory);
  const found: Found[] = [];
  for (const identifier of identifiers)
    for (const name of names.filter((each) => isLinkTo(each, identifier, lun))) {
      const disk = await devices.resolve(`${directory}/${name}`);
      if (disk !== undefined) found.push({ disk, multipath: await findMultipath(devices, disk) });
    }
  return found;
}

/** differs from upstream, which scans all hosts of the node: a scan of an iSCSI host finds LUNs of other nodes. */
async function scanHosts({ devices, log }: FcDeps, signal: AbortSignal): Promise<void> {
  const fibre = await devices.list('/sys/class/fc_host');
  for (const host of fibre.length > 0 ? fibre : await devices.list('/sys/class/scsi_host'))
    await devices.writeSysfs(`/sys/class/scsi_host/${host}/scan`, '- - -', signal).catch((err: unknown) => {
      signal.throwIfAborted();
      log.warn('Failed to scan SCSI host', { host, err });
    });
}

/** The names of all paths of the disk: `sdb`. */
export async function fcDevices(devices: HostDevices, disk: FcDisk): Promise<readonly string[]> {
  return (await devicesOf(devices, await findLinks(devices, disk))).paths;
}

interface Devices {
  readonly maps: readonly string[];
  readonly paths: readonly string[];
}

async function devicesOf(devices: HostDevices, found: readonly Found[]): Promise<Devices> {
  const maps = new Set<string>();
  const paths = new Set<string>();
  for (const { disk, multipath } of found) {
    if (multipath !== undefined) {
      maps.add(multipath);
      for (const name of await pathsOf(devices, multipath)) paths.add(name);
    }
    const name = deviceName(disk);
    if (name !== undefined && !name.startsWith('dm-')) paths.add(name);
  }
  return { maps: [...maps], paths: [...paths] };
}

/** Idempotent: after the unmount the devices are found by the disk's identifiers again. */
export async function detachFcDisk(
  deps: FcDeps,
  request: DetachRequest<FcPlace>,
  signal: AbortSignal,
): Promise<void> {
  const { devices } = deps;
  const { device, place } = request;
  const own = identifiersOf(request);
  const others = await request.others();
  const isShared = others.some(
    (each) =>
      each.place.lun === place.lun && identifiersOf(each).some((identifier) => own.includes(identifier)),
  );
  if (isShared) return;
  const found = [...(await findLinks(devices, { identifiers: own, lun: place.lun }))];
  const mounted = device === undefined ? undefined : await devices.resolve(device);
  if (mounted !== undefined) found.push({ disk: mounted, multipath: await findMultipath(devices, mounted) });
  const { maps, paths } = await devicesOf(devices, found);
  for (const map of maps) await flushMultipath(deps, map, signal);
  for (const name of paths) {
    await flushBuffers(deps, name, signal);
    await deleteDevice(deps, name, signal);
  }
}

function identifiersOf({
  place,
  record,
}: Pick<DetachRequest<FcPlace>, 'place' | 'record'>): readonly string[] {
  return record?.identifiers ?? place.identifiers;
}
