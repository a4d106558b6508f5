// What a Fibre Channel volume names, and the directories that upstream makes of it. Pure.
// Upstream: getWwnsLunWwids, makePDNameInternal, parsePDName and findDisk in pkg/volume/fc.
// Invariant: nothing that is not one path element becomes a part of a path.
import { KubeletError } from '../../base/errors.ts';
import type { VolumeSpec } from '../plugin.ts';
import type { DiskPlace } from '../scsi/disk-kind.ts';

export const fcName = 'kubernetes.io/fc';

export interface FcDisk {
  /** WWNs of the target's ports if there is a LUN, otherwise WWIDs of the disk. */
  readonly identifiers: readonly string[];
  readonly lun: string | undefined;
}

export interface FcPlace extends DiskPlace, FcDisk {}

type FcSource = NonNullable<VolumeSpec['source']['fc']>;

export function fcSource({ persistent, source }: VolumeSpec): FcSource | undefined {
  return persistent?.spec?.fc ?? source.fc;
}

/** With blanks in WWIDs as they are: the name is that of the controllers. */
export function fcAttachName(spec: VolumeSpec): string | undefined {
  const { lun, targetWWNs = [], wwids = [] } = fcSource(spec) ?? {};
  if (targetWWNs.length > 0 && lun !== undefined) return `${fcName}/[${targetWWNs.join(' ')}]:${lun}`;
  return wwids.length > 0 ? `${fcName}/[${wwids.join(' ')}]` : undefined;
}

/** differs from upstream: WWNs without a LUN are ignored if there are WWIDs; upstream takes one set for the name, the other to search. */
export function fcDisk(spec: VolumeSpec): FcDisk {
  const { lun, targetWWNs = [], wwids = [] } = fcSource(spec) ?? {};
  const isByName = targetWWNs.length > 0 && lun !== undefined;
  // udev replaces blanks in the names of links.
  const identifiers = isByName ? targetWWNs : wwids.map((wwid) => wwid.replaceAll(' ', '_'));
  if (identifiers.length === 0)
    throw invalid('fc: no fc disk information found. failed to make a new mounter');
  for (const each of identifiers) checkElement(each);
  return { identifiers, lun: isByName ? String(lun) : undefined };
}

/** The roots of global mounts and of block devices below the plugins' directory. */
export function fcRoots(pluginsDir: string): readonly { readonly path: string; readonly isBlock: boolean }[] {
  return [
    { path: `${pluginsDir}/${fcName}`, isBlock: false },
    { path: `${pluginsDir}/${fcName}/volumeDevices`, isBlock: true },
  ];
}

export function fcPlace(pluginsDir: string, disk: FcDisk, isBlock: boolean): FcPlace {
  const root = fcRoots(pluginsDir).find((each) => each.isBlock === isBlock)?.path;
  const { identifiers, lun } = disk;
  const name = `${identifiers.join('-')}${lun === undefined ? '' : `-lun-${lun}`}`;
  if (name.length > 240) throw invalid('fc: too many WWNs or WWIDs');
  return { ...disk, path: `${root}/${name}`, isBlock, derivedName: derivedName(disk) };
}

/** As upstream; WWIDs that contain dashes or blanks are in the record only. Undefined for a name that is not upstream's. */
export function parseFcPlace(
  root: { readonly path: string; readonly isBlock: boolean },
  name: string,
): FcPlace | undefined {
  if (name === 'volumeDevices' || name === '' || name.length > 255) return undefined;
  const end = /-lun-(\d{1,10})$/.exec(name);
  const identifiers = (end === null ? name : name.slice(0, end.index))
    .split('-')
    .filter((each) => each !== '');
  if (identifiers.length === 0) return undefined;
  const disk = { identifiers, lun: end?.[1] };
  return { ...disk, path: `${root.path}/${name}`, isBlock: root.isBlock, derivedName: derivedName(disk) };
}

/** Blanks of WWIDs are `_` in the directory, and the separators `-`. */
export function isFcName(place: FcPlace, attachName: string): boolean {
  const plain = (text: string): string => text.replace(/[\s_-]/g, '');
  return attachName.startsWith(`${fcName}/[`) && plain(attachName) === plain(place.derivedName);
}

/** Whether a name in /dev/disk/by-path or by-id is a link to this disk through this WWN, or with this WWID. */
export function isLinkTo(name: string, identifier: string, lun: string | undefined): boolean {
  if (lun === undefined) return name === `scsi-${identifier}`;
  const link = `fc-0x${identifier}-lun-${lun}`;
  return name === link || (name.startsWith('pci-') && name.endsWith(`-${link}`));
}

function derivedName({ identifiers, lun }: FcDisk): string {
  return `${fcName}/[${identifiers.join(' ')}]${lun === undefined ? '' : `:${lun}`}`;
}

function checkElement(name: string): void {
  if (name === '' || name === '.' || name === '..' || name.length > 240 || /[/\s\p{Cc}]/u.test(name))
    throw invalid(`fc: ${JSON.stringify(name)} is not a valid WWN or WWID`);
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'FailedMount', message);
}
