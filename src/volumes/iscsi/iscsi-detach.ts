// Detaches a LUN: deletes its devices, logs out of the sessions that no other volume uses, and deletes the records of iscsiadm.
// Upstream: DetachDisk, DetachBlockISCSIDisk and isSessionBusy in pkg/volume/iscsi/iscsi_util.go.
// Invariant: idempotent; a session or device that another volume on this node may use is kept.
import { deleteDevice, findMultipath, flushMultipath } from '../scsi/block-devices.ts';
import type { DetachRequest, FoundDisk } from '../scsi/disk-kind.ts';
import type { IscsiDeps } from './iscsi-attach.ts';
import type { IscsiFile } from './iscsi-file.ts';
import { lunDevices } from './iscsi-sysfs.ts';
import type { IscsiPlace } from './iscsi-target.ts';
import { failed, Iscsiadm } from './iscsiadm.ts';

/** Exit codes of iscsiadm: no such session; no record, target, session or portal found. */
const alreadyGone = [2, 21];

/** The caller holds the lock of the target. */
export async function detachIscsi(
  deps: IscsiDeps,
  request: DetachRequest<IscsiPlace>,
  file: IscsiFile | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { place } = request;
  const others = await request.others();
  const sameTarget = others.filter((each) => each.place.iqn === place.iqn);
  // Another portal or interface may lead to the same LUN.
  if (!sameTarget.some((each) => each.place.lun === place.lun)) await deleteDevices(deps, place, signal);
  const { iface, iqn } = place;
  const sameIface = others.filter((each) => each.place.iface === iface);
  const busy = new Set(sameIface.filter((each) => each.place.iqn === iqn).flatMap(portalsOf));
  const portals = file?.portals ?? portalsOf(request);
  const admin = new Iscsiadm(deps.programs, signal);
  // differs from upstream, which looks only at the first portal of each volume, and at the beginning of IQNs.
  for (const portal of new Set(portals)) {
    if (portal === '' || busy.has(portal)) continue;
    const node = ['-m', 'node', '-p', portal, '-T', iqn];
    await runOrGone(admin, [...node, '--logout', '-I', iface]);
    await runOrGone(admin, [...node, '-o', 'delete', '-I', iface]);
  }
  const isCloned =
    file !== undefined && file.initiatorName !== '' && iface === `${portals[0]}:${file.volumeName}`;
  if (isCloned && sameIface.length === 0)
    await runOrGone(admin, ['-m', 'iface', '-I', iface, '-o', 'delete']);
}

/** All portals that a volume may have sessions with. */
function portalsOf({ place, record }: FoundDisk<IscsiPlace>): readonly string[] {
  return [...new Set([place.portal, ...(record?.identifiers ?? [])])];
}

async function runOrGone(admin: Iscsiadm, args: readonly string[]): Promise<void> {
  const { code, failure, output } = await admin.run(args);
  if (failure === undefined || (code !== undefined && alreadyGone.includes(code))) return;
  throw failed(`failed to finish detachISCSIDisk, err: ${failure} ${output}`.trim());
}

async function deleteDevices(deps: IscsiDeps, place: IscsiPlace, signal: AbortSignal): Promise<void> {
  const names = await lunDevices(deps.devices, place);
  const maps = new Set<string>();
  for (const name of names) {
    const map = await findMultipath(deps.devices, `/dev/${name}`);
    if (map !== undefined) maps.add(map);
  }
  for (const map of maps)
    await flushMultipath(deps, map, signal).catch((err: unknown) => {
      signal.throwIfAborted();
      // As upstream: the devices are still deleted, and a log-out may remove the map.
      deps.log.warn('Failed to flush multipath device', { device: map, err });
    });
  for (const name of names) await deleteDevice(deps, name, signal);
}
