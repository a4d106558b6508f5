// A stream that reports when it is over: read to its end, failed, or returned because its client has gone.

/** `release` is called exactly once, also when nobody ever read. */
export function released(stream: AsyncIterable<Uint8Array>, release: () => void): AsyncIterable<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  let isOver = false;
  const over = (): void => {
    if (!isOver) release();
    isOver = true;
  };
  const iterator: AsyncIterator<Uint8Array> = {
    next: async () => {
      try {
        const next = await chunks.next();
        if (next.done === true) over();
        return next;
      } catch (err) {
        over();
        throw err;
      }
    },
    return: async () => {
      over();
      return (await chunks.return?.()) ?? { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
