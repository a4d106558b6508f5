// Checks whether a persistent volume may be mounted on this node for this pod: its node affinity and access mode.
// Upstream: checkNodeAffinity and the ReadWriteOncePod check of the operation generator.

import { matchesNodeTerms } from '../../api/k8s/node-selector.ts';
import type { Node, PersistentVolume } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';

/** Reasons of errors for which the event names a check as the failed step. */
export const failedChecks: Readonly<Record<string, string>> = {
  NodeAffinity: 'NodeAffinity check',
  MountOptionSupport: 'MountOptionSupport check',
};

export async function checkNodeAffinity(
  volume: PersistentVolume | undefined,
  node: () => Promise<Node>,
): Promise<void> {
  const terms = volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms !== undefined && !matchesNodeTerms(terms, await node()))
    throw new KubeletError('invalid', 'NodeAffinity', 'no matching NodeSelectorTerms');
}

/** Whether only one pod of the cluster may use the volume. */
function isExclusive(volume: PersistentVolume | undefined): boolean {
  const modes = volume?.spec?.accessModes ?? [];
  return modes.length === 1 && modes[0] === 'ReadWriteOncePod';
}

export function checkExclusive(
  volume: PersistentVolume | undefined,
  isUsedByOtherPod: (name: string) => boolean,
): void {
  if (isExclusive(volume) && isUsedByOtherPod(volume?.metadata?.name ?? ''))
    throw new KubeletError(
      'conflict',
      'FailedMount',
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
}

export function checkMountOptions(
  plugin: { readonly supportsMountOptions: boolean },
  { isBlock, mountOptions }: { readonly isBlock: boolean; readonly mountOptions: readonly string[] },
): void {
  if (mountOptions.length > 0 && !isBlock && !plugin.supportsMountOptions)
    throw new KubeletError(
      'invalid',
      'MountOptionSupport',
      'mount options are not supported for this volume type',
    );
}
