// Waits for a promise or an abort. Invariant: a wait that has ended leaves no listener on a signal that outlives it.

/** Settles as `work` does, or rejects with signal.reason on abort. `work` itself is not cancelled. */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // No caller awaits it any longer, so its failure must not become an unhandled rejection.
    work.catch(() => undefined);
    throw signal.reason;
  }
  let stopListening = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => signal.removeEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stopListening();
  }
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
