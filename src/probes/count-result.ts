// What one more result means for a probe: it counts in a row, and from the threshold on it is the container's result.
// Pure. Upstream: doProbe in pkg/kubelet/prober/worker.go.
import type { ProbeKind } from '../api/ports/probe-results.ts';

export type Counted = 'success' | 'failure';

/** How often in a row the same was said. */
export interface Run {
  readonly last: Counted | undefined;
  readonly length: number;
}

export const noRun: Run = { last: undefined, length: 0 };

interface Thresholds {
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

interface CountStep {
  readonly run: Run;
  /** The result that holds from now on; undefined while it is below its threshold. */
  readonly publish: Counted | undefined;
  /** No further probe until there is a new container. */
  readonly hold: boolean;
}

export function countResult(kind: ProbeKind, run: Run, result: Counted, thresholds: Thresholds): CountStep {
  const length = run.last === result ? run.length + 1 : 1;
  const threshold = result === 'success' ? thresholds.successThreshold : thresholds.failureThreshold;
  if (length < threshold) return { run: { last: result, length }, publish: undefined, hold: false };
  // A container that failed is about to be stopped, and one that has started needs no more asking.
  const hold = kind === 'startup' || (kind === 'liveness' && result === 'failure');
  return { run: { last: result, length: hold ? 0 : length }, publish: result, hold };
}
