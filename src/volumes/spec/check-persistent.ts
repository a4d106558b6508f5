// What a persistent volume itself says against being used by this pod here: the nodes it can be reached from, and that one pod
// alone may have it. Upstream: checkNodeAffinity and the ReadWriteOncePod check of the operation generator.

import { matchesNodeTerms } from '../../api/k8s/node-selector.ts';
import type { Node, PersistentVolume } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';

/** The reason of an error by which the event names another step than the mount. */
export const nodeAffinity = 'NodeAffinity';

export async function checkPersistent(
  volume: PersistentVolume | undefined,
  deps: { readonly node: () => Promise<Node>; readonly isMountedElsewhere: (name: string) => boolean },
): Promise<void> {
  if (volume === undefined) return;
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms !== undefined && !matchesNodeTerms(terms, await deps.node()))
    throw new KubeletError('invalid', nodeAffinity, 'no matching NodeSelectorTerms');
  const modes = volume.spec?.accessModes ?? [];
  const isForOnePod = modes.length === 1 && modes[0] === 'ReadWriteOncePod';
  if (isForOnePod && deps.isMountedElsewhere(volume.metadata?.name ?? ''))
    throw new KubeletError(
      'conflict',
      'FailedMount',
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
}
