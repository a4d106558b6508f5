// Reads a file of a pod's volume for its environment. Upstream: the fileKeyRef part of makeEnvironmentVariables.
import type { VolumeFile, VolumeFileRequest } from '../../api/pod/pod-volumes.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import type { MountedVolume } from '../mounted-volumes.ts';

export async function readVolumeFile(
  host: Pick<VolumeHost, 'readFile'>,
  mounted: MountedVolume | undefined,
  { limitBytes, path, volume }: VolumeFileRequest,
  signal: AbortSignal,
): Promise<VolumeFile> {
  if (mounted?.location.kind !== 'path') {
    const message = `cannot find the volume "${volume}" referenced by FileKeyRef`;
    throw new KubeletError('invalid', 'CreateContainerConfigError', message);
  }
  const volumePath = mounted.location.path;
  // The API accepts absolute paths and means them relative to the volume.
  const relative = path.replace(/^\/+/, '');
  const data = await host.readFile({ volumePath, path: relative, limitBytes }, signal);
  return { hostPath: `${volumePath}/${relative}`, data };
}
