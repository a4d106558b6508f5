// Decides when changed files are read. Pure.
// Invariants: at most one load per `intervalMs`, however often the files change; the last content is read, since every change
// postpones the load or requests another one; files that change without a pause are still read now and then.

export interface ReloadView {
  /** When the first change since the last load was reported; undefined: none was. */
  readonly firstChangeMs: number | undefined;
  readonly lastChangeMs: number;
  /** A load was requested, by a signal or by the loop itself; it does not wait for a pause. */
  readonly isRequested: boolean;
  readonly lastLoadMs: number;
}

const reloadTimes = {
  intervalMs: 1_000,
  /** A file that is written in pieces is complete after this pause. */
  quietMs: 300,
  longestMs: 5_000,
  /** Without any change reported: some replacements cause no event. */
  recheckMs: 30_000,
};

/** By the monotonic clock. */
export function computeReloadTime({
  firstChangeMs,
  isRequested,
  lastChangeMs,
  lastLoadMs,
}: ReloadView): number {
  const { intervalMs, longestMs, quietMs, recheckMs } = reloadTimes;
  const earliestMs = lastLoadMs + intervalMs;
  if (isRequested) return earliestMs;
  if (firstChangeMs === undefined) return lastLoadMs + recheckMs;
  return Math.max(earliestMs, Math.min(lastChangeMs + quietMs, firstChangeMs + longestMs));
}
