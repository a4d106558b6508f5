// What an iSCSI volume names, and the directories that upstream makes of it. Pure.
// Upstream: createISCSIDisk, getISCSITargetInfo and makePDNameInternal in pkg/volume/iscsi, and parsing the names again.
// Invariant: a directory's name leads back to portal, IQN and LUN, whatever the portal looks like; nothing that is not one path
// element becomes a part of a path.
import { KubeletError } from '../../base/errors.ts';
import type { VolumeSpec } from '../plugin.ts';
import type { DiskPlace } from '../scsi/disk-kind.ts';

export const iscsiName = 'kubernetes.io/iscsi';

export interface IscsiTarget {
  readonly volumeName: string;
  /** With ports; the first is the target portal. */
  readonly portals: readonly string[];
  readonly iqn: string;
  readonly lun: string;
  /** The interface whose settings are used. */
  readonly initIface: string;
  /** That interface, or a copy of it with the volume's own initiator name. */
  readonly iface: string;
  readonly initiatorName: string;
  readonly chapDiscovery: boolean;
  readonly chapSession: boolean;
}

export interface IscsiPlace extends DiskPlace {
  readonly iface: string;
  readonly portal: string;
  readonly iqn: string;
  readonly lun: string;
}

type IscsiSource = NonNullable<VolumeSpec['source']['iscsi']>;

export function iscsiSource({ persistent, source }: VolumeSpec): IscsiSource | undefined {
  return persistent?.spec?.iscsi ?? source.iscsi;
}

/** The port may be missing: the name is that of the controllers. */
export function iscsiAttachName(spec: VolumeSpec): string | undefined {
  const source = iscsiSource(spec);
  if (source === undefined) return undefined;
  return `${iscsiName}/${source.targetPortal}:${source.iqn}:${source.lun}`;
}

export function iscsiTarget(spec: VolumeSpec): IscsiTarget {
  const source = iscsiSource(spec);
  if (source === undefined) throw invalid('Spec does not reference an ISCSI volume type');
  const portals = [source.targetPortal, ...(source.portals ?? [])].map(withPort);
  const { initiatorName = '', iqn } = source;
  const initIface =
    source.iscsiInterface === undefined || source.iscsiInterface === '' ? 'default' : source.iscsiInterface;
  const iface = initiatorName === '' ? initIface : `${portals[0]}:${spec.directoryName}`;
  if (!/^(?:iqn|eui|naa)\./.test(iqn))
    throw invalid(`iscsi: ${JSON.stringify(iqn)} is not an iSCSI qualified name`);
  for (const name of [...portals, iqn, initIface, iface]) checkElement(name);
  if (!Number.isInteger(source.lun) || source.lun < 0) throw invalid(`iscsi: ${source.lun} is not a LUN`);
  return {
    volumeName: spec.directoryName,
    portals,
    iqn,
    lun: String(source.lun),
    initIface,
    iface,
    initiatorName,
    chapDiscovery: source.chapAuthDiscovery === true,
    chapSession: source.chapAuthSession === true,
  };
}

/** The roots of global mounts and of block devices below the plugins' directory. */
export function iscsiRoots(
  pluginsDir: string,
): readonly { readonly path: string; readonly isBlock: boolean }[] {
  return [
    { path: `${pluginsDir}/${iscsiName}`, isBlock: false },
    { path: `${pluginsDir}/${iscsiName}/volumeDevices`, isBlock: true },
  ];
}

export function iscsiPlace(pluginsDir: string, target: IscsiTarget, isBlock: boolean): IscsiPlace {
  const root = iscsiRoots(pluginsDir).find((each) => each.isBlock === isBlock)?.path;
  const { iface, iqn, lun, portals } = target;
  const [portal = ''] = portals;
  const path = `${root}/iface-${iface}/${portal}-${iqn}-lun-${lun}`;
  return { path, isBlock, iface, portal, iqn, lun, derivedName: `${iscsiName}/${portal}:${iqn}:${lun}` };
}

/**
 * differs from upstream, which ends the portal at the first `-`: host names have dashes, and IPv6 addresses colons. Undefined for
 * a name that is not upstream's.
 */
export function parseIscsiPlace(
  root: { readonly path: string; readonly isBlock: boolean },
  ifaceDir: string,
  name: string,
): IscsiPlace | undefined {
  if (!ifaceDir.startsWith('iface-') || name.length > 255) return undefined;
  const iface = ifaceDir.slice('iface-'.length);
  // A portal ends with its port, and has no other `:<digits>-iqn.`.
  const start = /:\d{1,5}-(?=(?:iqn|eui|naa)\.)/.exec(name);
  const end = /-lun-(\d{1,10})$/.exec(name);
  if (start === null || end === null) return undefined;
  const at = start.index + start[0].length;
  if (at > end.index) return undefined;
  const portal = name.slice(0, at - 1);
  const iqn = name.slice(at, end.index);
  const lun = end[1] ?? '';
  const path = `${root.path}/${ifaceDir}/${name}`;
  const { isBlock } = root;
  return { path, isBlock, iface, portal, iqn, lun, derivedName: `${iscsiName}/${portal}:${iqn}:${lun}` };
}

/** The controllers' name of a volume keeps a portal without port as it is; the directory has the default port. */
export function isIscsiName({ derivedName, iqn, lun, portal }: IscsiPlace, attachName: string): boolean {
  const bare = portal.endsWith(defaultPort) ? portal.slice(0, -defaultPort.length) : portal;
  return attachName === derivedName || attachName === `${iscsiName}/${bare}:${iqn}:${lun}`;
}

const defaultPort = ':3260';

/** As upstream: an IPv6 address needs a port. */
function withPort(portal: string): string {
  return portal.includes(':') ? portal : `${portal}${defaultPort}`;
}

function checkElement(name: string): void {
  if (name === '' || name.startsWith('-') || name.length > 240 || /[/\s\p{Cc}]/u.test(name))
    throw invalid(`iscsi: ${JSON.stringify(name)} is not a valid portal, target or interface`);
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'FailedMount', message);
}
