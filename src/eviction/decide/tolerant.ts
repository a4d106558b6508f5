// Reads amounts of a pod's spec. Invariant: one pod with an amount that cannot be parsed never stops the eviction of others.
// The API server accepts a few amounts that api/quantity rejects as unreasonable, such as 1e5000.

/** What `read` returns; undefined if it throws, so that the amount counts as not set. */
export function amountOrNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
