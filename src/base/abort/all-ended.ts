// Parts of one work beside each other. Invariant: when it fails, none of them is still under way.

/** What each of them gave. Fails with the first failure, after all have ended. */
export async function allEnded<T>(parts: readonly Promise<T>[]): Promise<readonly T[]> {
  const failed = (await Promise.allSettled(parts)).find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return await Promise.all(parts);
}
