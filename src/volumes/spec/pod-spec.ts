// Reads from a pod's spec which volumes its containers use, the owner of their files, and the mounts inside them. Pure.
// Upstream: pkg/volume/util (GetPodVolumeNames, FsUserFrom, nested_volumes.go).
import { normalize } from 'node:path';
import type { Pod, Volume } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { VolumeOwner } from '../plugin.ts';

/** The volumes that a container mounts. An unused volume is not mounted: it would only cost time, or fail. */
export function usedVolumes(pod: Pod): readonly Volume[] {
  const names = new Set(
    allContainers(pod).flatMap(({ volumeMounts = [], volumeDevices = [] }) =>
      [...volumeMounts, ...volumeDevices].map(({ name }) => name),
    ),
  );
  return (pod.spec?.volumes ?? []).filter(({ name }) => names.has(name));
}

export function volumeOwner(pod: Pod): VolumeOwner {
  const { securityContext } = pod.spec ?? {};
  return {
    fsGroup: securityContext?.fsGroup,
    onlyOnRootMismatch: securityContext?.fsGroupChangePolicy === 'OnRootMismatch',
    user: commonUser(pod),
  };
}

/** The runAsUser of all containers; undefined if they differ or one has none. */
function commonUser(pod: Pod): number | undefined {
  const podUser = pod.spec?.securityContext?.runAsUser;
  const users = new Set(allContainers(pod).map((each) => each.securityContext?.runAsUser ?? podUser));
  return users.size === 1 ? [...users][0] : undefined;
}

/**
 * Directories inside a volume that are mount points of other volumes, relative to it. The runtime could not create them in a
 * volume that is mounted read-only. Of nested mount points only the outermost.
 */
export function nestedMountPoints(pod: Pod, volume: string): readonly string[] {
  const nested = new Set<string>();
  for (const { volumeMounts = [] } of allContainers(pod)) {
    const paths = volumeMounts.map(({ mountPath }) => cleanPath(mountPath)).sort();
    for (const mount of volumeMounts.filter(({ name }) => name === volume)) {
      const prefix = `${cleanPath(mount.mountPath)}/`;
      const outermost: string[] = [];
      for (const path of paths) {
        if (!path.startsWith(prefix) || outermost.some((outer) => path.startsWith(outer))) continue;
        outermost.push(`${path}/`);
        nested.add(path.slice(prefix.length));
      }
    }
  }
  return [...nested];
}

function cleanPath(path: string): string {
  // normalize() leaves at most one trailing slash.
  return normalize(path).replace(/\/$/, '');
}
