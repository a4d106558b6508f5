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

export function computeVerdict({ elapsedMs, periodMs, startingForMs, symptom }: TrialView): TrialVerdict {
  const isOver = elapsedMs >= periodMs;
  if (startingForMs !== undefined) {
    if (!isOver && startingForMs < Math.max(leastStartingMs, periodMs * startingShare))
      return { kind: 'undecided' };
    return { kind: 'bad', reason: `the kubelet did not start within ${Math.round(startingForMs / 1_000)} s` };
  }
  if (symptom === undefined) return { kind: isOver ? 'good' : 'undecided' };
  if (!isOver && symptom.forMs < periodMs * symptomShare) return { kind: 'undecided' };
  return { kind: 'bad', reason: symptom.reason };
}
