// Validates volume sources with more rules than required fields.
// Upstream: pkg/apis/core/validation (iSCSI, fibre channel, Quobyte, flex volumes, Azure disks).
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  ISCSIVolumeSource,
  QuobyteVolumeSource,
} from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';

/** differs from upstream, which has no limit. The standard allows 223. */
const longestInitiatorName = 1_024;

/** Qualified names of initiators and targets, by prefix. */
const initiatorForms: Readonly<Record<string, RegExp>> = {
  // regex-bound: 1024, as longestInitiatorName
  iqn: /iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]+:[^,;*&$|\s]+$/,
  eui: /^eui.[a-zA-Z0-9]{16}$/,
  naa: /^naa.[a-zA-Z0-9]{32}$/,
};

export function checkIscsi(v: Violations, path: string, iscsi: ISCSIVolumeSource | undefined): void {
  v.requiredText(`${path}.targetPortal`, iscsi?.targetPortal);
  v.requiredText(`${path}.iqn`, iscsi?.iqn, isInitiatorName);
  v.range(`${path}.lun`, iscsi?.lun, 0, 255);
  if ((iscsi?.chapAuthDiscovery || iscsi?.chapAuthSession) && iscsi.secretRef === undefined)
    v.required(`${path}.secretRef`, 'is needed for CHAP');
  if (iscsi?.initiatorName === undefined) return;
  for (const detail of isInitiatorName(iscsi.initiatorName))
    v.invalid(`${path}.initiatorName`, iscsi.initiatorName, detail);
}

function isInitiatorName(name: string): string[] {
  if (name.length > longestInitiatorName) return [`must have at most ${longestInitiatorName} characters`];
  const form = initiatorForms[name.slice(0, 3)];
  if (form === undefined) return ['must begin with iqn, eui or naa'];
  return form.test(name) ? [] : [`must have the form of an ${name.slice(0, 3)} name`];
}

export function checkFibreChannel(v: Violations, path: string, fc: FCVolumeSource | undefined): void {
  const names = fc?.targetWWNs ?? [];
  const ids = fc?.wwids ?? [];
  if (names.length === 0 && ids.length === 0) v.required(`${path}.targetWWNs`, 'needs targetWWNs or wwids');
  if (names.length > 0 && ids.length > 0)
    v.invalid(`${path}.targetWWNs`, names, 'must not be given together with wwids');
  if (names.length === 0) return;
  if (fc?.lun === undefined) v.required(`${path}.lun`, 'is needed with targetWWNs');
  v.range(`${path}.lun`, fc?.lun, 0, 255);
}

export function checkQuobyte(v: Violations, path: string, quobyte: QuobyteVolumeSource | undefined): void {
  const registry = quobyte?.registry ?? '';
  const wanted = 'must be host:port, or several of them with commas between';
  if (registry === '') v.required(`${path}.registry`, wanted);
  else if ((quobyte?.tenant ?? '').length > 64)
    v.required(`${path}.tenant`, 'must not be longer than 64 characters');
  else
    for (const pair of registry.split(','))
      if (!isHostPort(pair)) v.invalid(`${path}.registry`, registry, wanted);
  v.requiredText(`${path}.volume`, quobyte?.volume);
}

/** `host:port`, with an IPv6 address in brackets. Either part may be empty. */
function isHostPort(pair: string): boolean {
  return /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair);
}

export function checkFlexOptions(
  v: Violations,
  path: string,
  options: Readonly<Record<string, string>>,
): void {
  for (const key of Object.keys(options)) {
    const domain = `.${(key.split('/', 1)[0] ?? '').toLowerCase()}`;
    if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io'))
      v.invalid(`${path}[${key}]`, key, 'the domains kubernetes.io and k8s.io are reserved');
  }
}

const managedDisk =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobDisk = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

export function checkAzureDisk(v: Violations, path: string, disk: AzureDiskVolumeSource | undefined): void {
  v.requiredText(`${path}.diskName`, disk?.diskName);
  v.requiredText(`${path}.diskURI`, disk?.diskURI);
  v.word(`${path}.cachingMode`, disk?.cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
  v.word(`${path}.kind`, disk?.kind, ['Dedicated', 'Managed', 'Shared']);
  if (disk?.kind === undefined) return;
  const managed = disk.kind === 'Managed';
  if (!(disk.diskURI ?? '').startsWith(managed ? '/subscriptions/' : 'https://'))
    v.unsupported(`${path}.diskURI`, disk.diskURI, [managed ? managedDisk : blobDisk]);
}
