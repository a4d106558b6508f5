// Fits the configured periods into the time that logind grants. Pure, with tables of cases. docs/graceful-shutdown.md.
// differs from upstream: there a limit that is too low disables the feature.
// Invariant: the plan never takes longer than the limit.
import { type GraceGroup, totalSeconds } from './grace-groups.ts';

interface PlannedGroup extends GraceGroup {
  /** The longest grace period of its pods; below `seconds` if their statuses need the rest. */
  readonly graceSeconds: number;
}

export interface ShutdownPlan {
  readonly groups: readonly PlannedGroup[];
  /** From the beginning to the release of the lock. */
  readonly totalSeconds: number;
}

interface PlanInput {
  readonly groups: readonly GraceGroup[];
  readonly limitSeconds: number;
  /** How long ago the shutdown began, if an earlier process of the kubelet handled it. */
  readonly elapsedSeconds: number;
}

/** What the last statuses need on their way to the API server, at most. */
const reportSeconds = 5;
const maxReserveSeconds = 2;

export function planShutdown({ elapsedSeconds, groups, limitSeconds }: PlanInput): ShutdownPlan {
  const fitted = fitGroups(groups, limitSeconds);
  const sum = totalSeconds(fitted);
  const spareSeconds = Math.min(reportSeconds, Math.max(0, Math.floor(limitSeconds) - sum));
  const left = withoutElapsed(fitted, elapsedSeconds);
  const last = left.findLastIndex(({ seconds }) => seconds > 0);
  return {
    groups: left.map((group, index) => ({
      ...group,
      graceSeconds: group.seconds - (index === last ? reserve(group.seconds, spareSeconds) : 0),
    })),
    totalSeconds: totalSeconds(left) + spareSeconds,
  };
}

/**
 * All groups shrink in proportion, in whole seconds. What the division leaves over goes to the groups of the highest priority.
 */
export function fitGroups(groups: readonly GraceGroup[], limitSeconds: number): readonly GraceGroup[] {
  const sum = totalSeconds(groups);
  const limit = Math.floor(limitSeconds);
  if (sum <= limit) return groups;
  const fitted = groups.map((group) => ({ ...group, seconds: Math.floor((group.seconds * limit) / sum) }));
  let left = limit - totalSeconds(fitted);
  for (let index = groups.length - 1; left > 0; index--) {
    const [wanted, given] = [groups[index], fitted[index]];
    if (wanted === undefined || given === undefined) break;
    if (given.seconds === wanted.seconds) continue;
    given.seconds++;
    left--;
  }
  return fitted;
}

/** The time that has passed is taken from the groups that came first. */
function withoutElapsed(groups: readonly GraceGroup[], elapsedSeconds: number): readonly GraceGroup[] {
  let elapsed = elapsedSeconds;
  return groups.map((group) => {
    const taken = Math.min(group.seconds, elapsed);
    elapsed -= taken;
    return { ...group, seconds: group.seconds - taken };
  });
}

/** A pod that ignores SIGTERM is killed this much before the end of the last period, so that its end can be reported. */
function reserve(seconds: number, spareSeconds: number): number {
  return Math.max(0, Math.min(maxReserveSeconds, Math.floor(seconds / 4)) - spareSeconds);
}
