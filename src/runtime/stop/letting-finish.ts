// Calls that make something on the runtime are not cut off at once when their pod has to end.

import { withLateAbort } from '../../base/abort/late-abort.ts';
import type { Clock } from '../../base/clock.ts';

/** Far longer than they take as a rule; a runtime that hangs holds up no end for long. */
const letFinishMs = 2_000;

// differs from upstream: there the call is cut off in the middle. What containerd has made by then it may be unable to
// remove for seconds, and at one moment of a start for as long as it lives.
/** Runs a call with a signal that follows the given one after a while. */
export async function lettingFinish<T>(
  { clock }: { readonly clock: Clock },
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await withLateAbort({ clock, signal, ms: letFinishMs }, call);
}
