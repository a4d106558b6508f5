// Counts consecutive results of a probe: from the threshold on, the result becomes the container's. Pure.
// Upstream: doProbe in pkg/kubelet/prober/worker.go.
import type { ProbeKind } from '../api/ports/probe-results.ts';

export type Counted = 'success' | 'failure';

/** Consecutive equal results. */
export interface ResultRun {
  readonly last: Counted | undefined;
  readonly length: number;
}

export const noResultRun: ResultRun = { last: undefined, length: 0 };

interface Thresholds {
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

interface CountStep {
  readonly run: ResultRun;
  /** The container's new result; undefined while the run is below its threshold. */
  readonly publish: Counted | undefined;
  /** Stop probing until the container is replaced. */
  readonly hold: boolean;
}

export function countResult(
  kind: ProbeKind,
  run: ResultRun,
  result: Counted,
  thresholds: Thresholds,
): CountStep {
  const length = run.last === result ? run.length + 1 : 1;
  const threshold = result === 'success' ? thresholds.successThreshold : thresholds.failureThreshold;
  if (length < threshold) return { run: { last: result, length }, publish: undefined, hold: false };
  // A container that failed its liveness or startup probe is about to be stopped; one that has started stays started.
  const hold = kind === 'startup' || (kind === 'liveness' && result === 'failure');
  return { run: { last: result, length: hold ? 0 : length }, publish: result, hold };
}
