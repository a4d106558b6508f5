// When figures have to be read next, so that a threshold is noticed soon after it is crossed although nothing is read often while
// resources are plentiful. Pure. Upstream reads them every 10 s, and memory on notifications of cgroup v1.
import { thresholdQuantity } from './decide/met.ts';
import type { Observations } from './decide/observe.ts';
import type { Threshold } from './decide/thresholds.ts';

/** The fastest that memory is expected to be consumed. A faster consumer is noticed later, at the latest after `maxMs`. */
const bytesPerMs = (4 * 1024 ** 3) / 1000;
const minMs = 100;
const maxMs = 10_000;
/** While a threshold is met, the passes of the manager read memory as well. */
const metMs = 1_000;

interface MemoryMargin {
  readonly availableBytes: number;
  readonly thresholdBytes: number;
}

/** `margins`: one per memory threshold. Infinity without any: there is nothing to wait for. */
export function nextSampleMs(margins: readonly MemoryMargin[]): number {
  if (margins.length === 0) return Number.POSITIVE_INFINITY;
  const distances = margins.map(({ availableBytes, thresholdBytes }) => availableBytes - thresholdBytes);
  const open = distances.filter((bytes) => bytes >= 0);
  const next = open.length === 0 ? maxMs : Math.min(...open) / bytesPerMs;
  const bounded = Math.min(Math.max(next, minMs), maxMs);
  return open.length === distances.length ? bounded : Math.min(Math.max(bounded, minMs), metMs);
}

export interface PassFigures {
  /** Monotonic. */
  readonly atMs: number;
  readonly observations: Observations;
}

const minPassMs = 1_000;

/**
 * When the next pass is due: at the latest after `maxMs`, earlier if a resource shrinks so fast that a threshold is crossed before.
 * Half of the projected time, since the consumer may become faster.
 */
export function nextPassMs(
  before: PassFigures | undefined,
  now: PassFigures,
  thresholds: readonly Threshold[],
): number {
  const elapsedMs = before === undefined ? 0 : now.atMs - before.atMs;
  if (elapsedMs <= 0) return maxMs;
  const projected = thresholds.map(({ signal, value }) => {
    const [earlier, current] = [before?.observations.get(signal), now.observations.get(signal)];
    if (earlier === undefined || current === undefined) return maxMs;
    const left = current.available - thresholdQuantity(value, current.capacity).toNumber();
    const perMs = (earlier.available - current.available) / elapsedMs;
    return left <= 0 || perMs <= 0 ? maxMs : left / perMs / 2;
  });
  return Math.max(minPassMs, Math.min(maxMs, ...projected));
}
