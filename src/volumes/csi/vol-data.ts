// vol_data.json: what the kubelet remembers on disk of a volume that it asked a driver to stage or publish. The file is written
// before the driver is called, so that a volume can be torn down by what is on disk alone.
// Upstream: saveVolumeData, loadVolumeData; its format, but written earlier. Invariant: what was read is bounded and checked
// before it becomes part of a path or a request.
import { goJson } from '../../api/k8s/go-json.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { isKind } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { attachmentName, type CsiVolumeId, isDriverName, isHandle } from './names.ts';

/** A handle of the greatest length, with every character escaped. */
const limitBytes = 256 * 1024;
const longestLabel = 4096;

interface VolumeData extends CsiVolumeId {
  readonly isEphemeral: boolean;
  /** The label that the volume is mounted with; undefined if it is mounted without one. */
  readonly seLinuxLabel: string | undefined;
}

export type DataOnDisk =
  | { readonly kind: 'none' }
  | { readonly kind: 'damaged'; readonly why: string }
  | { readonly kind: 'valid'; readonly data: VolumeData };

/** What the file of a volume must agree with. */
interface ExpectedData {
  readonly specName?: string;
}

export function stagingText({ driver, handle }: CsiVolumeId, seLinuxLabel: string | undefined): string {
  return textOf({ volumeHandle: handle, driverName: driver, seLinuxMountContext: seLinuxLabel });
}

export function targetText(
  volume: CsiVolumeId & { readonly isEphemeral: boolean },
  specName: string,
  nodeName: string,
  seLinuxLabel: string | undefined,
): string {
  return textOf({
    ...common(volume, specName, nodeName),
    volumeLifecycleMode: volume.isEphemeral ? 'Ephemeral' : 'Persistent',
    seLinuxMountContext: seLinuxLabel,
  });
}

export function blockText(volume: CsiVolumeId, specName: string, nodeName: string): string {
  return textOf(common(volume, specName, nodeName));
}

function common(volume: CsiVolumeId, specName: string, nodeName: string): Record<string, string> {
  const { driver, handle } = volume;
  const attachmentID = attachmentName(volume, nodeName);
  return { specVolID: specName, volumeHandle: handle, driverName: driver, nodeName, attachmentID };
}

/** As Go encodes a map: in the order of the keys. */
function textOf(fields: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(fields).filter(([, text]) => text !== undefined);
  return `${goJson(Object.fromEntries(present.sort(([a], [b]) => (a < b ? -1 : 1))))}\n`;
}

/** Rejects only if the file system fails. */
export async function readVolumeData(
  host: Pick<VolumeHost, 'readOwnFile'>,
  path: string,
  expected: ExpectedData = {},
): Promise<DataOnDisk> {
  try {
    const text = await host.readOwnFile(path, limitBytes);
    return text === undefined ? { kind: 'none' } : parseVolumeData(text, expected);
  } catch (err) {
    if (isKind(err, 'invalid')) return damaged('it is too large or not a regular file');
    throw err;
  }
}

export function parseVolumeData(text: string, { specName }: ExpectedData = {}): DataOnDisk {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return damaged('it is not JSON');
  }
  if (!isObject(fields)) return damaged('it is not a JSON object');
  const { driverName: driver, seLinuxMountContext: label = '', volumeHandle: handle } = fields;
  if (typeof driver !== 'string' || !isDriverName(driver)) return damaged('its driver name is not valid');
  if (typeof handle !== 'string' || !isHandle(handle)) return damaged('its volume handle is not valid');
  if (typeof label !== 'string' || label.length > longestLabel)
    return damaged('its SELinux label is not valid');
  const { specVolID, volumeLifecycleMode: mode = 'Persistent' } = fields;
  if (specName !== undefined && specVolID !== specName) return damaged('it belongs to another volume');
  if (mode !== 'Persistent' && mode !== 'Ephemeral') return damaged('its lifecycle mode is not valid');
  const seLinuxLabel = label === '' ? undefined : label;
  return { kind: 'valid', data: { driver, handle, isEphemeral: mode === 'Ephemeral', seLinuxLabel } };
}

function damaged(why: string): DataOnDisk {
  return { kind: 'damaged', why };
}
