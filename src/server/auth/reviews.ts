// Asks the API server about a token or an access. Upstream: WithExponentialBackoff and DefaultShouldRetry in
// k8s.io/apiserver/pkg/util/webhook. Invariant: an answer or an error comes within the deadline.
import type { ApiClient } from '../../api/ports/api-client.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';

/** Whose budget at the API server a review counts against: not that of the node's own work. */
type ReviewLimiter = 'token-reviews' | 'access-reviews';

export interface ReviewDeps {
  readonly api: Pick<ApiClient, 'create'>;
  readonly clock: Clock;
  /** Between 0 and 1, for how long to wait before asking again. */
  readonly random: () => number;
}

/** The whole review, asking again included. */
const reviewDeadlineMs = 10_000;
const attempts = 5;
const firstWaitMs = 500;
const factor = 1.5;
const jitter = 0.2;

const passing: ReadonlySet<string> = new Set([
  'InternalError',
  'Timeout',
  'TooManyRequests',
  'ConnectionBroken',
]);

export function review<T>(
  deps: ReviewDeps,
  limiter: ReviewLimiter,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<T> {
  const { api, clock, random } = deps;
  return withDeadline({ clock, ms: reviewDeadlineMs, signal, what: `POST ${path}` }, async (within) => {
    let waitMs = firstWaitMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await api.create<T>(path, body, { signal: within, limiter, timeoutMs: reviewDeadlineMs });
      } catch (err) {
        if (attempt >= attempts || !isPassing(err)) throw err;
        await clock.sleep(waitMs * (1 + random() * jitter), within);
        waitMs *= factor;
      }
    }
  });
}

function isPassing(err: unknown): boolean {
  return err instanceof KubeletError && passing.has(err.reason);
}
