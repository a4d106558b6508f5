// Which pods terminate together at a node shutdown, and how long they have. Pure, with tables of cases.
// Upstream: migrateConfig and groupByPriority in pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
import type { Pod } from '../api/k8s/types.ts';

/** Pods of at least this priority, up to the next group. */
export interface GraceGroup {
  readonly priority: number;
  readonly seconds: number;
}

/** The settings, in force or not. */
export interface ShutdownPeriods {
  readonly byPriority: readonly GraceGroup[];
  /** Of the whole shutdown; used without `byPriority`. */
  readonly totalMs: number;
  /** The last part of it, for critical pods. */
  readonly criticalMs: number;
}

const defaultPriority = 0;
const criticalPriority = 2_000_000_000;

/** By ascending priority, the order in which they terminate. None: the kubelet does not delay a shutdown. */
export function graceGroups({ byPriority, criticalMs, totalMs }: ShutdownPeriods): readonly GraceGroup[] {
  if (byPriority.length > 0) {
    // Upstream accepts negative periods in the configuration: they are over at once.
    const groups = byPriority.map(({ priority, seconds }) => ({ priority, seconds: Math.max(0, seconds) }));
    return groups.toSorted((a, b) => a.priority - b.priority);
  }
  if (totalMs <= 0 || criticalMs > totalMs) return [];
  return [
    { priority: defaultPriority, seconds: Math.floor((totalMs - criticalMs) / 1_000) },
    { priority: criticalPriority, seconds: Math.floor(criticalMs / 1_000) },
  ];
}

/** The highest group that the pod's priority reaches; the lowest for a pod below all of them. */
export function groupIndexOf(pod: Pod, groups: readonly GraceGroup[]): number {
  const own = pod.spec?.priority ?? defaultPriority;
  return Math.max(
    0,
    groups.findLastIndex(({ priority }) => priority <= own),
  );
}

export function totalSeconds(groups: readonly GraceGroup[]): number {
  return groups.reduce((sum, { seconds }) => sum + seconds, 0);
}
