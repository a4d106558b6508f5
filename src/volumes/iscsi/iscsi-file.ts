// The file iscsi.json in the directory of a disk, in upstream's form, so that either kubelet detaches what the other attached.
// Upstream: persistISCSIFile and loadISCSI. Invariant: a file that cannot be read, or names another target than its directory, is
// as good as none.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { isObject } from '../../base/guards.ts';
import { isShortList, parseJson } from '../scsi/disk-records.ts';
import type { IscsiPlace, IscsiTarget } from './iscsi-target.ts';

export const iscsiFileName = 'iscsi.json';

const limitBytes = 64 * 1024;

export type IscsiFile = Pick<IscsiTarget, 'volumeName' | 'portals' | 'initiatorName'>;

export async function writeIscsiFile(
  host: VolumeHost,
  place: IscsiPlace,
  target: IscsiTarget,
): Promise<void> {
  const path = `${place.path}/${iscsiFileName}`;
  const text = formatIscsiFile(target);
  if ((await host.readOwnFile(path, limitBytes).catch(() => undefined)) !== text)
    await host.writeOwnFile(path, text);
}

/** Only while nothing is mounted on the place, which would hide the file. */
export async function readIscsiFile(host: VolumeHost, place: IscsiPlace): Promise<IscsiFile | undefined> {
  const text = await host.readOwnFile(`${place.path}/${iscsiFileName}`, limitBytes).catch(() => undefined);
  return text === undefined ? undefined : parseIscsiFile(text, place);
}

function formatIscsiFile(target: IscsiTarget): string {
  const { initIface, initiatorName, iface, iqn, lun, portals, volumeName } = target;
  const file = {
    VolName: volumeName,
    Portals: portals,
    Iqn: iqn,
    Lun: lun,
    InitIface: initIface,
    Iface: iface,
    InitiatorName: initiatorName,
    // Upstream embeds an interface of this name, which is always null.
    MetricsProvider: null,
  };
  // Go escapes these characters for HTML.
  const escaped = JSON.stringify(file).replace(
    /[<>&]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `${escaped}\n`;
}

export function parseIscsiFile(text: string, { iqn, lun }: IscsiPlace): IscsiFile | undefined {
  const value = parseJson(text);
  if (!isObject(value) || value['Iqn'] !== iqn || value['Lun'] !== lun) return undefined;
  const { VolName: volumeName, Portals: portals, InitiatorName: initiatorName = '' } = value;
  if (typeof volumeName !== 'string' || typeof initiatorName !== 'string' || !isShortList(portals))
    return undefined;
  return { volumeName, portals, initiatorName };
}
