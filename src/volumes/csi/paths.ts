// The paths of CSI volumes on disk. They are upstream's, so that either kubelet finds what the other has mounted. Pure.
// Upstream: makeDeviceMountPath, getTargetPath, csi_block.go. Invariant: a path never leaves the plugin's or the pod's directory;
// the names in it come from manifests and from disk.
import type { DeviceMap } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { deviceMap, type VolumeLayout, volumeDir } from '../layout.ts';
import { blockDirectory, type CsiVolumeId, csiPluginName, sha256 } from './names.ts';

/** A directory of the kubelet with vol_data.json, and what the driver mounts in it. */
export interface MountPaths {
  readonly directory: string;
  readonly data: string;
  readonly mount: string;
}

export function csiDir({ pluginsDir }: VolumeLayout): string {
  return `${pluginsDir}/${csiPluginName}`;
}

export function driverDir(layout: VolumeLayout, driver: string): string {
  return `${csiDir(layout)}/${element(driver)}`;
}

/** Where the driver stages a volume, once per node. */
export function stagingPaths(layout: VolumeLayout, { driver, handle }: CsiVolumeId): MountPaths {
  return mountPaths(`${driverDir(layout, driver)}/${sha256(handle)}`, 'globalmount');
}

/** The same for a directory found on disk. */
export function stagingDirectoryPaths(layout: VolumeLayout, driver: string, name: string): MountPaths {
  return mountPaths(`${driverDir(layout, driver)}/${element(name)}`, 'globalmount');
}

/** The directory of a volume whose staging mount has this path, maybe in a second mount of the kubelet's root directory. */
export function stagedAt(path: string): { readonly driver: string; readonly name: string } | undefined {
  const root = `/plugins/${csiPluginName}/`;
  const at = path.lastIndexOf(root);
  if (at === -1) return undefined;
  const [driver = '', name = '', last, ...rest] = path.slice(at + root.length).split('/', 4);
  const isStaging = last === 'globalmount' && rest.length === 0 && isElement(driver) && isElement(name);
  return isStaging ? { driver, name } : undefined;
}

/** Where the driver publishes a volume to a pod; `directory` is the volume's directory in the pod's. */
export function targetPaths(directory: string): MountPaths {
  return mountPaths(directory, 'mount');
}

function mountPaths(directory: string, mount: string): MountPaths {
  return { directory, data: `${directory}/vol_data.json`, mount: `${directory}/${mount}` };
}

/** The directories of a block volume; `name` is the name of the PersistentVolume. */
export interface BlockPaths {
  readonly directory: string;
  readonly dataDir: string;
  readonly data: string;
  readonly staging: string;
  /** The device of each pod, as the driver published it. */
  readonly publishDir: string;
  /** The device of each pod, as the kubelet mapped it. */
  readonly devicesDir: string;
}

export function blockDir(layout: VolumeLayout): string {
  return `${csiDir(layout)}/${blockDirectory}`;
}

export function publishRoot(layout: VolumeLayout): string {
  return `${blockDir(layout)}/publish`;
}

export function blockPaths(layout: VolumeLayout, name: string): BlockPaths {
  const root = blockDir(layout);
  const directory = `${root}/${element(name)}`;
  return {
    directory,
    dataDir: `${directory}/data`,
    data: `${directory}/data/vol_data.json`,
    staging: `${root}/staging/${name}`,
    publishDir: `${publishRoot(layout)}/${name}`,
    devicesDir: `${directory}/dev`,
  };
}

/** What a pod has of a block volume. */
export interface PodDevice {
  /** Where the driver publishes it. */
  readonly published: string;
  /** Its bind mount; created first and removed last, so that it marks the device as in use. */
  readonly mapped: string;
}

export function podDevice({ devicesDir, publishDir }: BlockPaths, uid: string): PodDevice {
  return { published: `${publishDir}/${element(uid)}`, mapped: `${devicesDir}/${uid}` };
}

export function csiDeviceMap(layout: VolumeLayout, uid: string, name: string): DeviceMap {
  const { link } = deviceMap(layout, uid, csiPluginName, name);
  return { link, target: podDevice(blockPaths(layout, name), uid).mapped };
}

/** Whose volume a container's path is: the mount in a pod's directory, or the link to a pod's device. */
interface LocatedVolume {
  readonly uid: string;
  readonly directoryName: string;
  readonly isBlock: boolean;
}

export function locateVolume(layout: VolumeLayout, path: string): LocatedVolume | undefined {
  const [uid = '', kind, plugin, directoryName = '', ...rest] = path
    .slice(layout.podsDir.length + 1)
    .split('/', 6);
  const isCsi = path.startsWith(`${layout.podsDir}/`) && plugin === 'kubernetes.io~csi';
  if (!isCsi || !isElement(uid) || !isElement(directoryName)) return undefined;
  if (kind === 'volumes' && (rest.length === 0 || (rest.length === 1 && rest[0] === 'mount')))
    return { uid, directoryName, isBlock: false };
  return kind === 'volumeDevices' && rest.length === 0 ? { uid, directoryName, isBlock: true } : undefined;
}

export function csiVolumeDir(layout: VolumeLayout, uid: string, directoryName: string): string {
  return volumeDir(layout, uid, csiPluginName, directoryName);
}

function isElement(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && name.length <= 255 && !/[/\0]/.test(name);
}

function element(name: string): string {
  if (isElement(name)) return name;
  const shown = JSON.stringify(name.slice(0, 255));
  throw new KubeletError('invalid', 'InvalidPath', `${shown} is not a valid directory name`);
}
