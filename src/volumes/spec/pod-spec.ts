// What a pod's spec says about its volumes as a whole: which are used, to whom their files belong, what is mounted inside
// them. Pure. Upstream: pkg/volume/util (GetPodVolumeNames, FsUserFrom, nested_volumes.go).
import { normalize } from 'node:path';
import type { Pod, Volume } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { VolumeOwner } from '../plugin.ts';

/** Only what a container mounts is mounted: the rest would cost time and could fail for nobody's sake. */
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

/** The user that every container says it runs as; undefined when they differ or one does not say. */
function commonUser(pod: Pod): number | undefined {
  const podUser = pod.spec?.securityContext?.runAsUser;
  const users = new Set(allContainers(pod).map((each) => each.securityContext?.runAsUser ?? podUser));
  return users.size === 1 ? [...users][0] : undefined;
}

/**
 * Directories inside a volume on which containers mount something else, relative to it: in a volume that is mounted
 * read-only the runtime could not make them. Of mounts inside each other only the outermost.
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
  // Slashes in a row are one by then.
  return normalize(path).replace(/\/$/, '');
}
