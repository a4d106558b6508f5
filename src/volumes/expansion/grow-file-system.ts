// The expansion of in-tree kinds: the file system grows to the size that its device has. Upstream: NodeExpand of local, iscsi, fc
// and of flexVolume drivers without expandfs. Invariant: a volume without a file system of its own is left as it is.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import type { ExpandRequest, VolumePlugin } from '../plugin.ts';

/** `deviceOf`: the block device of the volume; undefined for a volume that has none, such as a directory. */
export function fileSystemExpansion(
  host: Pick<VolumeHost, 'growFileSystem'>,
  deviceOf: (request: ExpandRequest) => Promise<string | undefined>,
): NonNullable<VolumePlugin['expansion']> {
  return {
    async expand(request, signal) {
      const { path: mountPath, sizeBytes, spec } = request;
      // The containers write to the device itself.
      const device = spec.isBlock ? undefined : await deviceOf(request);
      if (device !== undefined) await host.growFileSystem({ device, mountPath }, signal);
      return sizeBytes;
    },
  };
}
