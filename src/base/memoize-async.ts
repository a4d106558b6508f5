// Caches the result of an asynchronous lookup that never changes. Invariants: one lookup in flight at a time; a failure rejects
// the callers that waited for it and is not cached.

export function memoizeAsync<T>(learn: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => {
    if (known !== undefined) return known;
    const looking = learn();
    known = looking;
    looking.catch(() => {
      known = undefined;
    });
    return looking;
  };
}
