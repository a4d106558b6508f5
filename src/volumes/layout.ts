// Where a pod's volumes are on disk, as upstream has it, so that a node's state can be taken over. Pure spelling.
// Upstream: pkg/kubelet/kubelet_getters.go. Invariant: a path that is made from names lies below the pod's directory: UIDs and
// names come from manifests and from disk, and these paths are mounted on and removed.
import { KubeletError } from '../base/errors.ts';

export interface VolumeLayout {
  /** `<root>/pods`. */
  readonly podsDir: string;
  /** `<root>/plugins`. */
  readonly pluginsDir: string;
}

export function podDir({ podsDir }: VolumeLayout, uid: string): string {
  return `${podsDir}/${oneElement(uid)}`;
}

export function volumesDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volumes`;
}

/** Where the links to devices are that a pod's containers get as they are. */
export function volumeDevicesDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volumeDevices`;
}

/** The link to a pod's device, and the mount beside it by which the node keeps that device. */
export function deviceMap(
  layout: VolumeLayout,
  uid: string,
  plugin: string,
  name: string,
): { readonly link: string; readonly target: string } {
  const pluginDir = pluginDirName(plugin);
  return {
    link: `${volumeDevicesDir(layout, uid)}/${pluginDir}/${oneElement(name)}`,
    target: `${layout.pluginsDir}/${pluginDir}/volumeDevices/${oneElement(name)}/${oneElement(uid)}`,
  };
}

/** Where the file system of a local device is mounted once, for all pods. */
export function localMountDir(layout: VolumeLayout, name: string): string {
  return `${localMountsDir(layout)}/${oneElement(name)}`;
}

export function localMountsDir({ pluginsDir }: VolumeLayout): string {
  return `${pluginsDir}/kubernetes.io/local-volume/mounts`;
}

/** `kubernetes.io/empty-dir` is `kubernetes.io~empty-dir` on disk. */
export function pluginDirName(plugin: string): string {
  return oneElement(plugin.replaceAll('/', '~'));
}

export function volumeDir(layout: VolumeLayout, uid: string, plugin: string, name: string): string {
  return `${volumesDir(layout, uid)}/${pluginDirName(plugin)}/${oneElement(name)}`;
}

/** Where a directory that the kubelet made itself is marked as complete. */
export function readyDir(layout: VolumeLayout, uid: string, name: string): string {
  return `${podDir(layout, uid)}/plugins/kubernetes.io~empty-dir/${oneElement(name)}`;
}

export function subPathsDir(layout: VolumeLayout, uid: string): string {
  return `${podDir(layout, uid)}/volume-subpaths`;
}

export function subPathTarget(
  layout: VolumeLayout,
  place: {
    readonly uid: string;
    readonly directoryName: string;
    readonly container: string;
    readonly index: number;
  },
): string {
  const { uid, directoryName, container, index } = place;
  return `${subPathsDir(layout, uid)}/${oneElement(directoryName)}/${oneElement(container)}/${index}`;
}

function oneElement(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(name)} cannot be the name of a directory`,
    );
  return name;
}
