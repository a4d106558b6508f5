// Reports an error that has no caller to go to: a listener or callback threw inside another component's operation. It
// surfaces as an uncaught exception, as if the event loop had run the callback, and the operation continues.
export function reportUncaught(err: unknown): void {
  queueMicrotask(() => {
    throw err;
  });
}
