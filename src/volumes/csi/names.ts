// The names of CSI volumes: in the node's status, of VolumeAttachments, and of inline volumes. Pure.
// Upstream: pkg/volume/csi (makeVolumeHandle, getAttachmentName), pkg/volume/util (GetUniqueVolumeName).
// Invariant: a driver name that passes isDriverName() is one directory, and contains no separator of a unique name.
import { createHash } from 'node:crypto';

export const csiPluginName = 'kubernetes.io/csi';

/** Holds the block devices, beside the directories of the drivers. */
export const blockDirectory = 'volumeDevices';

/** A PersistentVolume may name any handle; a longer one could not be read back from vol_data.json. */
const longestHandle = 16_384;

const separator = '^';
const prefix = `${csiPluginName}/`;

export interface CsiVolumeId {
  readonly driver: string;
  readonly handle: string;
}

/** The unique volume name, under which controllers attach it. */
export function uniqueName({ driver, handle }: CsiVolumeId): string {
  return `${prefix}${driver}${separator}${handle}`;
}

/** Undefined for the name of another plugin. */
export function parseUniqueName(name: string): CsiVolumeId | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const at = name.indexOf(separator);
  const id = { driver: name.slice(prefix.length, at), handle: name.slice(at + 1) };
  return at !== -1 && isDriverName(id.driver) && isHandle(id.handle) ? id : undefined;
}

/** The plugin's name in metrics. */
export function driverLabel(driver: string): string {
  return `${csiPluginName}:${driver}`;
}

export function attachmentName({ driver, handle }: CsiVolumeId, nodeName: string): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** The handle of a volume that is defined in the pod's spec. */
export function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const driverName = /^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/;

/** As the API server validates it; one that ends in a dot or a dash does no harm here. */
export function isDriverName(text: string): boolean {
  return driverName.test(text) && text !== blockDirectory;
}

export function isHandle(text: string): boolean {
  return text !== '' && text.length <= longestHandle && !text.includes('\0');
}
