// Requests to volume plugins, with defaults: a volume named v of the pod default/p.
import type { Pod } from '../../src/api/k8s/types.ts';
import type { SetUpRequest, VolumeOwner, VolumeSource, VolumeSpec } from '../../src/volumes/plugin.ts';
import { aPod } from './builders.ts';

export const noOwner: VolumeOwner = { fsGroup: undefined, onlyOnRootMismatch: false, user: undefined };

export function aVolumeSpec(source: VolumeSource = {}, over: Partial<VolumeSpec> = {}): VolumeSpec {
  const plain = { readOnly: false, mountOptions: [], persistent: undefined, isBlock: false };
  return { name: 'v', directoryName: 'v', source, ...plain, ...over };
}

export function aSetUpRequest(
  plugin: string,
  source: VolumeSource,
  over: { readonly pod?: Pod; readonly owner?: VolumeOwner; readonly spec?: Partial<VolumeSpec> } = {},
): SetUpRequest {
  const { pod = aPod(), owner = noOwner } = over;
  const spec = aVolumeSpec(source, over.spec);
  const path = `/root/pods/${pod.metadata?.uid}/volumes/kubernetes.io~${plugin}/${spec.directoryName}`;
  return { pod, spec, path, owner, isRemount: false };
}
