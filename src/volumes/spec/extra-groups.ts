// The groups that persistent volumes add to their pods. Pure. Upstream: getExtraSupplementalGid in pkg/kubelet/volumemanager.
import type { Pod } from '../../api/k8s/types.ts';
import type { VolumeSpec } from '../plugin.ts';

const annotation = 'pv.beta.kubernetes.io/gid';

/** A value that is not a number is ignored, as upstream. */
export function computeExtraGroups(
  pod: Pod,
  specs: readonly Pick<VolumeSpec, 'persistent'>[],
): readonly number[] {
  const own = pod.spec?.securityContext?.supplementalGroups ?? [];
  const groups = specs.flatMap(({ persistent }) => {
    const text = persistent?.metadata?.annotations?.[annotation] ?? '';
    return /^[+-]?[0-9]{1,15}$/.test(text) ? [Number(text)] : [];
  });
  return [...new Set(groups)].filter((group) => !own.includes(group));
}
