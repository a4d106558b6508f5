// Checks whether a persistent volume may be mounted on this node for this pod: its node affinity and access mode.
// Upstream: checkNodeAffinity and the ReadWriteOncePod check of the operation generator.

import { matchesNodeTerms } from '../../api/k8s/node-selector.ts';
import type { Node, PersistentVolume } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';

/** Reason of the error for which the event names the NodeAffinity check as the failed step. */
export const nodeAffinity = 'NodeAffinity';

export async function checkPersistent(
  volume: PersistentVolume | undefined,
  deps: { readonly node: () => Promise<Node>; readonly isMountedByOtherPod: (name: string) => boolean },
): Promise<void> {
  if (volume === undefined) return;
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms !== undefined && !matchesNodeTerms(terms, await deps.node()))
    throw new KubeletError('invalid', nodeAffinity, 'no matching NodeSelectorTerms');
  const modes = volume.spec?.accessModes ?? [];
  const isExclusive = modes.length === 1 && modes[0] === 'ReadWriteOncePod';
  if (isExclusive && deps.isMountedByOtherPod(volume.metadata?.name ?? ''))
    throw new KubeletError(
      'conflict',
      'FailedMount',
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
}
