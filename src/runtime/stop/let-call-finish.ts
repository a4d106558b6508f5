// CRI calls that create something are not cancelled at once when their pod has to terminate.

import { withLateAbort } from '../../base/abort/late-abort.ts';
import type { Clock } from '../../base/clock.ts';

/** Far longer than such a call usually takes, and short enough that a hanging runtime hardly delays the termination. */
const graceMs = 2_000;

// differs from upstream: there the call is cancelled in the middle. containerd may then be unable to remove the half-created
// container for seconds, and at one moment of a start for as long as containerd runs.
/** Runs a call whose signal is aborted `graceMs` after the given one. */
export async function letCallFinish<T>(
  { clock }: { readonly clock: Clock },
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await withLateAbort({ clock, signal, ms: graceMs }, call);
}
