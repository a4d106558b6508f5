// The way out for an error nobody can be handed: a listener or callback that threw inside somebody else's work.
// It surfaces as an uncaught exception, the same as if the callback had run from the event loop, while the caller's
// work goes on to its end.
export function reportUncaught(err: unknown): void {
  queueMicrotask(() => {
    throw err;
  });
}
