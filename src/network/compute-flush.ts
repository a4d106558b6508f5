// Decides from the canary chains of a family whether its tables were flushed. Pure. Upstream: Monitor in pkg/util/iptables.

/** `unknown`: the check failed, for instance because another program holds the lock. */
export type CanaryState = 'present' | 'absent' | 'unknown';

export type Flush =
  | 'none'
  /** Tables are flushed one after the other. Rules made meanwhile would be flushed too. */
  | 'in-progress'
  | 'complete'
  /** Some tables were flushed, and the others will not be. */
  | 'partial';

/** How long the remaining canaries may take to disappear. */
const longestFlushMs = 5_000;

/**
 * `waitedMs`: since the end of the check that first found an absent canary.
 * differs from upstream: a flush of the nat or filter table alone is noticed as well, and only a canary that is known to be absent
 * is taken for a flush.
 */
export function computeFlush(canaries: readonly CanaryState[], waitedMs: number): Flush {
  if (!canaries.includes('absent')) return 'none';
  if (canaries.every((each) => each === 'absent')) return 'complete';
  return waitedMs < longestFlushMs ? 'in-progress' : 'partial';
}
