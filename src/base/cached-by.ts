// A computed value that is kept until one of its inputs is another value. For what is derived from settings that can change.

/** Calls `compute` only when an input differs, by identity, from the last time. */
export function cachedBy<I extends [] | unknown[], T>(
  inputs: () => I,
  compute: (...inputs: NoInfer<I>) => T,
): () => T {
  let last: { readonly inputs: I; readonly value: T } | undefined;
  return () => {
    const now = inputs();
    const known = last;
    if (known !== undefined && now.every((each, index) => each === known.inputs[index])) return known.value;
    last = { inputs: now, value: compute(...now) };
    return last.value;
  };
}
