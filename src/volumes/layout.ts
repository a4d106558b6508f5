// The paths of pods' volumes on disk. They are upstream's, so that this kubelet can adopt a node that the Go kubelet ran. Pure.
// Upstream: pkg/kubelet/kubelet_getters.go. Invariant: a path made from UIDs and names never leaves the pod's directory. Both
// come from manifests and from disk, and these paths are mounted on and removed.
import { KubeletError } from '../base/errors.ts';

export interface VolumeLayout {
  /** `<root>/pods`. */
  readonly podsDir: string;
  /** `<root>/plugins`. */
  readonly pluginsDir: string;
}

export function podDir({ podsDir }: VolumeLayout, uid: string): string {
  return `${podsDir}/${pathElement(uid)}`;
}

/** Has a directory per container that was created for the pod. */
export function containersDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/containers`;
}

export function volumesDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volumes`;
}

/** Holds the links to the block devices of a pod. */
export function volumeDevicesDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volumeDevices`;
}

/** The link to a pod's block device, and the bind mount that keeps the device open. */
export function deviceMap(
  layout: VolumeLayout,
  uid: string,
  plugin: string,
  name: string,
): { readonly link: string; readonly target: string } {
  const pluginDir = pluginDirName(plugin);
  return {
    link: `${volumeDevicesDir(layout, uid)}/${pluginDir}/${pathElement(name)}`,
    target: `${layout.pluginsDir}/${pluginDir}/volumeDevices/${pathElement(name)}/${pathElement(uid)}`,
  };
}

/** The global mount of a local device's file system, shared by all pods. */
export function localMountDir(layout: VolumeLayout, name: string): string {
  return `${localMountsDir(layout)}/${pathElement(name)}`;
}

export function localMountsDir({ pluginsDir }: VolumeLayout): string {
  return `${pluginsDir}/kubernetes.io/local-volume/mounts`;
}

/** `kubernetes.io/empty-dir` is `kubernetes.io~empty-dir` on disk. */
export function pluginDirName(plugin: string): string {
  return pathElement(plugin.replaceAll('/', '~'));
}

export function volumeDir(layout: VolumeLayout, uid: string, plugin: string, name: string): string {
  return `${volumesDir(layout, uid)}/${pluginDirName(plugin)}/${pathElement(name)}`;
}

/** Holds the marker file of a complete directory. */
export function readyDir(layout: VolumeLayout, uid: string, name: string): string {
  return `${podDir(layout, uid)}/plugins/kubernetes.io~empty-dir/${pathElement(name)}`;
}

export function subPathsDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volume-subpaths`;
}

export function subPathTarget(
  layout: VolumeLayout,
  mount: {
    readonly uid: string;
    readonly directoryName: string;
    readonly container: string;
    readonly index: number;
  },
): string {
  const { uid, directoryName, container, index } = mount;
  return `${subPathsDir(layout, uid)}/${pathElement(directoryName)}/${pathElement(container)}/${index}`;
}

function pathElement(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new KubeletError('invalid', 'InvalidPath', `${JSON.stringify(name)} is not a valid directory name`);
  return name;
}
