// Runs parts of one work beside each other. Invariant: when it fails, none of them is still under way.

/** Fails with the first failure, after all have ended. */
export async function together(parts: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(parts)).find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
