// Decides when the size of a container's current log file is read next. Pure. Upstream: none, it reads sizes every
// containerLogMonitorInterval only.
// Invariant: a container that writes up to assumedBytesPerMs keeps its current file below one and a quarter times the limit plus what
// it writes during one rotation, also if it was silent or slow before.

export interface Sample {
  readonly atMs: number;
  readonly bytes: number;
  /** When the size was last found changed. */
  readonly grownAtMs: number;
}

type NextSample =
  | { readonly do: 'rotate' }
  | { readonly do: 'sample'; readonly inMs: number }
  /** Silent: the next write wakes it. */
  | { readonly do: 'watch' };

/** The rate that is expected of any container that writes at all: 64 MiB/s. */
const assumedBytesPerMs = (64 * 1024 * 1024) / 1000;
/** The size of a file, in limits, that a burst may reach before it is noticed. */
const burstLimits = 1.25;
const minSampleMs = 50;
/** For a container that is known to write fast. */
const minBusySampleMs = 20;
const unwatchedMs = 1_000;
/** A container that writes more often is sampled: that costs less than a notification per line. */
const silentMs = 1_000;

export function takeSample(before: Sample | undefined, atMs: number, bytes: number): Sample {
  return { atMs, bytes, grownAtMs: before?.bytes === bytes ? before.grownAtMs : atMs };
}

/**
 * `before`: undefined for the first sample, and after a silence, whose rate means nothing. `watch` is called for a silent log only;
 * false if its next write is not notified.
 */
export function computeNextSample(
  before: Sample | undefined,
  now: Sample,
  limitBytes: number,
  watch: () => boolean,
): NextSample {
  if (now.bytes >= limitBytes) return { do: 'rotate' };
  if (before === undefined) return { do: 'sample', inMs: minSampleMs };
  if (now.atMs - now.grownAtMs >= silentMs)
    return watch() ? { do: 'watch' } : { do: 'sample', inMs: unwatchedMs };
  const burstMs = Math.max(minSampleMs, (burstLimits * limitBytes - now.bytes) / assumedBytesPerMs);
  return { do: 'sample', inMs: Math.min(burstMs, untilFullMs(before, now, limitBytes)) };
}

/** At the rate since the sample before. */
function untilFullMs(before: Sample, now: Sample, limitBytes: number): number {
  const rate = (now.bytes - before.bytes) / Math.max(1, now.atMs - before.atMs);
  return rate <= 0 ? Number.POSITIVE_INFINITY : Math.max(minBusySampleMs, (limitBytes - now.bytes) / rate);
}
