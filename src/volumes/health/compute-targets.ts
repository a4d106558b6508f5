// Decides which volumes of a driver are probed, and with which paths. Pure.
// Invariant: a persistent volume that a pod uses under several names is probed once. Inline volumes are not, as upstream.
// Upstream: GetVolumesToReportHealth in pkg/kubelet/volumemanager/cache/volume_health.go.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { driverOf, idOf } from '../csi/csi-volume.ts';
import { isDriverName, isHandle } from '../csi/names.ts';
import { blockPaths, csiVolumeDir, podDevice, stagingPaths, targetPaths } from '../csi/paths.ts';
import type { VolumeLayout } from '../layout.ts';
import type { VolumeSpec } from '../plugin.ts';

/** A volume whose set-up has begun. */
export interface AttemptedVolume {
  readonly uid: PodUid;
  readonly spec: VolumeSpec;
}

export interface HealthTarget {
  readonly uid: PodUid;
  /** The volume's names in the pod's spec. */
  readonly names: readonly string[];
  readonly volumeId: string;
  /**
   * differs from upstream: there the paths are empty until the volume was mounted once, a block volume has no publish path and the
   * directory of its devices as staging path. CSI defines them as the paths of the latest attempt.
   */
  readonly publishPath: string;
  /** For a driver that stages. */
  readonly stagingPath: string;
}

export function computeTargets(
  attempted: readonly AttemptedVolume[],
  driver: string,
  layout: VolumeLayout,
): readonly HealthTarget[] {
  const targets = new Map<string, HealthTarget>();
  for (const { spec, uid } of attempted) {
    const target = driverOf(spec) === driver ? targetOf(uid, spec, layout) : undefined;
    if (target === undefined) continue;
    const names = [...(targets.get(target.publishPath)?.names ?? []), spec.name];
    targets.set(target.publishPath, { ...target, names });
  }
  return [...targets.values()];
}

function targetOf(uid: PodUid, spec: VolumeSpec, layout: VolumeLayout): HealthTarget | undefined {
  const id = idOf(spec);
  if (id === undefined || !isDriverName(id.driver) || !isHandle(id.handle)) return undefined;
  const { directoryName, isBlock, name } = spec;
  const own = { uid, names: [name], volumeId: id.handle };
  if (!isBlock) {
    const { mount } = targetPaths(csiVolumeDir(layout, uid, directoryName));
    return { ...own, publishPath: mount, stagingPath: stagingPaths(layout, id).mount };
  }
  const paths = blockPaths(layout, directoryName);
  return { ...own, publishPath: podDevice(paths, uid).published, stagingPath: paths.staging };
}
