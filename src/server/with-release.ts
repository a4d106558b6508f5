// A stream that reports its end: read completely, failed, or returned because its client disconnected.

/** `release` is called exactly once, also if the stream was never read. */
export function withRelease(
  stream: AsyncIterable<Uint8Array>,
  release: () => void,
): AsyncIterable<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  let hasEnded = false;
  const end = (): void => {
    if (!hasEnded) release();
    hasEnded = true;
  };
  const iterator: AsyncIterator<Uint8Array> = {
    next: async () => {
      try {
        const next = await chunks.next();
        if (next.done === true) end();
        return next;
      } catch (err) {
        end();
        throw err;
      }
    },
    return: async () => {
      end();
      return (await chunks.return?.()) ?? { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
