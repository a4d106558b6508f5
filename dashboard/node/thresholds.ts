// The eviction thresholds of a gauge in words.
import type { ThresholdMark } from '../../src/api/ports/node-page.ts';

/** Marks that are measured against the same capacity as the gauge. */
export function ofSignal(thresholds: readonly ThresholdMark[], signal: string): readonly ThresholdMark[] {
  return thresholds.filter((each) => each.signal === signal);
}

export function thresholdNote(
  thresholds: readonly ThresholdMark[],
  format: (available: number) => string,
): string {
  if (thresholds.length === 0) return 'No eviction threshold';
  const parts = thresholds
    .toSorted((a, b) => b.available - a.available)
    .map(({ available, kind }) => `${format(available)} (${kind})`);
  return `Evicts below ${parts.join(', ')}`;
}
