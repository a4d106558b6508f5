// Health checks of the runtime and of the relist. Pure over the relist's record.
// Upstream: the syncloop check of pkg/kubelet/server and Healthy of pkg/kubelet/pleg.
import type { Clock } from '../base/clock.ts';
import type { RuntimeHealth } from './pleg.ts';

interface HealthChecksInput {
  readonly pleg: { health(): RuntimeHealth };
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly relistMs: number;
  readonly callTimeoutMs: number;
}

export interface NamedCheck {
  readonly name: string;
  check(): string | undefined;
}

/** Relists may fail for a while, but they must be attempted: at least within twice the longest relist. */
const slack = 2;
/** Without a successful relist for this long, the node is not ready. */
const relistThresholdMs = 180_000;

export function healthChecks(input: HealthChecksInput): readonly NamedCheck[] {
  const { clock, pleg } = input;
  const longestMs = slack * (input.relistMs + input.callTimeoutMs);
  return [
    {
      name: 'syncloop',
      check: () => {
        const { lastAttemptAtMs } = pleg.health();
        if (lastAttemptAtMs === undefined) return 'the sync loop has not started';
        const ageMs = clock.monotonic() - lastAttemptAtMs;
        return ageMs > longestMs ? `the sync loop has not run for ${Math.round(ageMs / 1000)} s` : undefined;
      },
    },
    {
      name: 'pleg',
      check: () => {
        const { lastRelistAtMs } = pleg.health();
        if (lastRelistAtMs === undefined) return undefined;
        const ageMs = clock.monotonic() - lastRelistAtMs;
        return ageMs > relistThresholdMs
          ? `pleg was last seen active ${Math.round(ageMs / 1000)} s ago; threshold is 3m0s`
          : undefined;
      },
    },
    {
      // differs from upstream: there an unavailable runtime shows only in the node's Ready condition, which a node without a
      // control plane does not have.
      name: 'runtime',
      check: () => {
        const { everAnswered, failure } = pleg.health();
        if (failure !== undefined) return `the container runtime is unavailable: ${failure}`;
        return everAnswered ? undefined : 'the container runtime has not answered yet';
      },
    },
  ];
}
