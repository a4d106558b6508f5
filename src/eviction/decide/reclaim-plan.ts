// What the kubelet reclaims on the node before it evicts pods, and when that was enough. Pure.
// Upstream: buildSignalToNodeReclaimFuncs in pkg/kubelet/eviction/helpers.go and reclaimNodeLevelResources in eviction_manager.go.
import type { DiskLayout } from './layout.ts';
import { thresholdsMet } from './met.ts';
import type { Observations } from './observe.ts';
import { isHard, resourceOf, type Signal, type Threshold } from './thresholds.ts';

export type ReclaimStep = 'containers' | 'images';

/** Unused containers and images, in the order in which they are deleted. Nothing for memory and processes. */
export function reclaimPlan(signal: Signal, layout: DiskLayout): readonly ReclaimStep[] {
  if (!isDisk(signal)) return [];
  if (layout === 'one') return ['containers', 'images'];
  if (layout === 'split') return signal.startsWith('imagefs.') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs.') ? [] : ['containers', 'images'];
}

/** The signals that share a file system with this one, itself included. */
export function signalsOf(signal: Signal, layout: DiskLayout): readonly Signal[] {
  if (!isDisk(signal)) return [signal];
  const all = ['nodefs', 'imagefs', 'containerfs'] as const;
  const names =
    layout === 'one' ? all : all.filter((name) => holder(name, layout) === holder(signal, layout));
  return names.flatMap((name) => [`${name}.available`, `${name}.inodesFree`] as const);
}

/** Of a layout with two file systems. */
function holder(name: string, layout: DiskLayout): 'nodefs' | 'imagefs' {
  if (name.startsWith('containerfs')) return layout === 'split' ? 'nodefs' : 'imagefs';
  return name.startsWith('imagefs') ? 'imagefs' : 'nodefs';
}

function isDisk(signal: Signal): boolean {
  const resource = resourceOf(signal);
  return resource === 'ephemeral-storage' || resource === 'inodes';
}

interface ReclaimCheck {
  readonly signal: Signal;
  readonly layout: DiskLayout;
  readonly thresholds: readonly Threshold[];
  /** The thresholds acted on. */
  readonly acting: readonly Threshold[];
  /** Measured after the reclaim. */
  readonly observations: Observations;
}

/**
 * Whether the reclaim was enough, so that no pod has to be evicted. Minimum reclaims count. A signal without a figure is not clear.
 * differs from upstream: other file systems, memory, and soft thresholds within their grace period do not matter, since the
 * reclaim was not for them.
 */
export function isReclaimSufficient(check: ReclaimCheck): boolean {
  const { acting, layout, observations, signal, thresholds } = check;
  const signals = signalsOf(signal, layout);
  const relevant = thresholds.filter(
    (threshold) => signals.includes(threshold.signal) && (isHard(threshold) || acting.includes(threshold)),
  );
  return observations.has(signal) && thresholdsMet(relevant, observations, true).length === 0;
}
