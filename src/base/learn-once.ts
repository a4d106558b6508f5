// What does not change, learnt when it is first wanted. Invariants: one look at a time; a failure is told to those who waited
// and not kept.

export function learnOnce<T>(learn: () => Promise<T>): () => Promise<T> {
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
