// The names of FlexVolume drivers, and the paths made from them. Pure. Upstream: EscapeQualifiedName of k8s.io/utils/strings,
// getDeviceMountPath and getExecutablePathRel in pkg/volume/flexvolume.
// Invariant: a path made from a name stays below its root. A name comes from a pod's spec, from the API or from disk.
import { KubeletError } from '../../base/errors.ts';
import type { VolumeLayout } from '../layout.ts';

const longestName = 250;
const mostParts = 4;
const mountsName = 'mounts';

/** Plugins of upstream. Their directories in a pod never belong to a FlexVolume driver. */
const builtIn: ReadonlySet<string> = new Set(
  'aws-ebs azure-disk azure-file cephfs cinder configmap csi downward-api empty-dir fc flexvolume flocker gce-pd git-repo glusterfs host-path image iscsi local-volume nfs photon-pd portworx-volume projected quobyte rbd scaleio secret storageos vsphere-volume'
    .split(' ')
    .map((name) => `kubernetes.io/${name}`),
);

/**
 * Whether a driver may have this name: `vendor/driver`, or `driver` alone.
 * differs from upstream, where any name of a directory is one: no part is `mounts`, which would make the directory of a volume
 * ambiguous; none begins with a dot, and none is that of a built-in plugin.
 */
export function isDriverName(name: string): boolean {
  const parts = name.split('/', mostParts + 1);
  return (
    name.length <= longestName &&
    parts.length <= mostParts &&
    parts.every((part) => part !== mountsName && /^[^.~\p{Cc}][^~\p{Cc}]*$/u.test(part)) &&
    !builtIn.has(name)
  );
}

export function checkDriverName(name: string): string {
  if (isDriverName(name)) return name;
  const shown = JSON.stringify(name.slice(0, longestName));
  throw new KubeletError('invalid', 'InvalidDriver', `${shown} is not a valid name of a FlexVolume driver`);
}

/** `vendor/driver` is `vendor~driver` on disk. */
export function directoryOfDriver(name: string): string {
  return name.replaceAll('/', '~');
}

export function driverOfDirectory(directory: string): string {
  return directory.replaceAll('~', '/');
}

/** Whether only the kubelet's own plugins and old ones of upstream usually have such names. */
export function isKubernetesName(name: string): boolean {
  return name.startsWith('kubernetes.io/');
}

/** The driver of a volume at `<pod>/volumes/<vendor~driver>/<volume>`. */
export function driverAt(path: string): string {
  return driverOfDirectory(path.split('/').at(-2) ?? '');
}

export function globalMountsRoot({ pluginsDir }: VolumeLayout): string {
  return `${pluginsDir}/kubernetes.io/flexvolume`;
}

/** Holds the global mounts of a driver's volumes, by their names. */
function globalMountsDir(layout: VolumeLayout, driver: string): string {
  return `${globalMountsRoot(layout)}/${checkDriverName(driver)}/${mountsName}`;
}

export interface FlexDevice {
  readonly driver: string;
  /** The name of the persistent volume, or of the volume in the pod's spec. */
  readonly volume: string;
}

/** Upstream's unique volume name. */
export function deviceKeyOf({ driver, volume }: FlexDevice): string {
  return `${driver}/${volume}`;
}

export function deviceOfKey(key: string): FlexDevice {
  const at = key.lastIndexOf('/');
  return { driver: key.slice(0, at), volume: key.slice(at + 1) };
}

/** Where the driver mounts a device once for all pods. */
export function globalMountDir(layout: VolumeLayout, { driver, volume }: FlexDevice): string {
  if (volume === '' || volume === '.' || volume === '..' || /[/\0]/.test(volume))
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(volume)} is not a valid directory name`,
    );
  return `${globalMountsDir(layout, driver)}/${volume}`;
}
