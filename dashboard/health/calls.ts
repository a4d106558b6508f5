// Which calls in flight are probably hanging. Pure.
import type { InFlightCall } from '../../src/api/ports/node-page.ts';

const hangingAfterMs = 10_000;

interface CallRow {
  readonly call: InFlightCall;
  readonly ageMs: number;
  readonly isHanging: boolean;
}

/** Oldest first, so that hanging calls stand on top. */
export function callRows(calls: readonly InFlightCall[], nowMs: number): readonly CallRow[] {
  return calls
    .map((call) => {
      const ageMs = Math.max(0, nowMs - call.sinceMs);
      return { call, ageMs, isHanging: ageMs > hangingAfterMs };
    })
    .sort((a, b) => b.ageMs - a.ageMs);
}
