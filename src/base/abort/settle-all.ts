// Waits for parallel operations. Invariant: when the wait rejects, none of them is still in flight.

/** As Promise.all, but rejects with the first failure only after all have settled. */
export async function settleAll<T>(parts: readonly Promise<T>[]): Promise<readonly T[]> {
  const failed = (await Promise.allSettled(parts)).find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return await Promise.all(parts);
}
