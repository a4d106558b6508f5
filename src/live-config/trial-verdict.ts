// Decides whether a configuration on trial has proved itself. Pure.
// Invariant: the verdict is known when the period has passed, whatever the kubelet does.

export interface TrialView {
  readonly periodMs: number;
  /** Since the configuration was put in force. */
  readonly elapsedMs: number;
  /** Since the kubelet began to start; undefined if it runs. */
  readonly startingForMs: number | undefined;
  /** What is wrong now, and since when without a break. */
  readonly symptom: { readonly reason: string; readonly forMs: number } | undefined;
}

export type TrialVerdict =
  | { readonly kind: 'undecided' }
  | { readonly kind: 'good' }
  | { readonly kind: 'bad'; readonly reason: string };

/** A start waits for the runtime, for example. A short period is its limit as a whole. */
const startingShare = 1 / 2;
const leastStartingMs = 10_000;
/** A symptom may be a short failure of something else. */
const symptomShare = 1 / 3;
/** However long the period is, a kubelet must not be useless for longer. */
const longestMs = 5 * 60_000;

export function computeVerdict({ elapsedMs, periodMs, startingForMs, symptom }: TrialView): TrialVerdict {
  const isOver = elapsedMs >= periodMs;
  if (startingForMs !== undefined) {
    const allowedMs = Math.min(longestMs, Math.max(leastStartingMs, periodMs * startingShare));
    if (!isOver && startingForMs < allowedMs) return { kind: 'undecided' };
    return { kind: 'bad', reason: `the kubelet did not start within ${Math.round(startingForMs / 1_000)} s` };
  }
  if (symptom === undefined) return { kind: isOver ? 'good' : 'undecided' };
  if (!isOver && symptom.forMs < Math.min(longestMs, periodMs * symptomShare)) return { kind: 'undecided' };
  return { kind: 'bad', reason: symptom.reason };
}

/**
 * The verdict on a kubelet that is stopped during its trial; undefined: none. A service manager stops a service that does not
 * become ready, and would start the same configuration again and again.
 */
export function computeStopVerdict(startingForMs: number | undefined): string | undefined {
  if (startingForMs === undefined || startingForMs < leastStartingMs) return undefined;
  return `the kubelet was stopped when it had not started within ${Math.round(startingForMs / 1_000)} s`;
}
