// Waits until the API server has the last statuses of a shutdown: after that, the network may go.
// Upstream does not wait: kubernetes/kubernetes#110755. Invariant: the wait is bounded, also without an API server.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';

interface UntilReportedOptions {
  readonly killed: ReadonlySet<PodUid>;
  readonly hasReportedEnd: (uid: PodUid) => boolean;
  readonly isNodeReported: () => boolean;
  readonly clock: Clock;
  /** By the monotonic clock. */
  readonly endMs: number;
  readonly signal: AbortSignal;
}

const maxMs = 5_000;
const pollMs = 50;

/** Resolves with the number of statuses that were not reported in time, also of pods that have not ended. */
export async function untilReported(options: UntilReportedOptions): Promise<number> {
  const { clock, hasReportedEnd, isNodeReported, killed, signal } = options;
  const waiting = new Set(killed);
  const endMs = Math.min(options.endMs, clock.monotonic() + maxMs);
  for (;;) {
    for (const uid of waiting) if (hasReportedEnd(uid)) waiting.delete(uid);
    const left = waiting.size + (isNodeReported() ? 0 : 1);
    const leftMs = endMs - clock.monotonic();
    if (left === 0 || leftMs <= 0) return left;
    await clock.sleep(Math.min(pollMs, leftMs), signal);
  }
}
