// Which file systems the node has. Pure.
// Upstream: HasDedicatedImageFs and HasDedicatedContainerFs in pkg/kubelet/stats.
import type { NodeSignals } from '../../api/ports/node-usage.ts';

/**
 * one: images, writable layers and the kubelet's directory share a file system; imagefs: images and writable layers have their
 * own; split: images have their own, and writable layers do not lie there.
 */
export type DiskLayout = 'one' | 'imagefs' | 'split';

/**
 * Undefined while a file system has not been measured. `separateDiskGc`: the gate KubeletSeparateDiskGC.
 * differs from upstream: without the gate, writable layers count as part of imagefs. Upstream then stops evicting for disk pressure.
 */
export function computeLayout(signals: NodeSignals, separateDiskGc: boolean): DiskLayout | undefined {
  const { nodeFs, imageFs, containerFs } = signals;
  if (nodeFs === undefined || imageFs === undefined || containerFs === undefined) return undefined;
  if (separateDiskGc && imageFs.device !== containerFs.device) return 'split';
  return imageFs.device === nodeFs.device ? 'one' : 'imagefs';
}
