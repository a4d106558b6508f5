// When memory has to be read next, so that a threshold is noticed soon after it is crossed although nothing is read often while
// memory is plentiful. Pure. Upstream reads it every 10 s, or relies on notifications of cgroup v1.

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
