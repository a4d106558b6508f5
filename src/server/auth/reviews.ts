// Sends a review to the API server, with retries. Upstream: WithExponentialBackoff and DefaultShouldRetry in
// k8s.io/apiserver/pkg/util/webhook. Invariant: settles within the deadline.
import type { ApiClient } from '../../api/ports/api-client.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';

/** The rate limit of a review, separate from that of the node's own requests. */
type ReviewLimiter = 'token-reviews' | 'access-reviews';

export interface ReviewDeps {
  readonly api: Pick<ApiClient, 'create'>;
  readonly clock: Clock;
  /** A number from 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
}

/** For the whole review, including retries. */
const reviewDeadlineMs = 10_000;
const attempts = 5;
const firstRetryMs = 500;
const factor = 1.5;
const jitter = 0.2;

const retryableReasons: ReadonlySet<string> = new Set([
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
    let waitMs = firstRetryMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await api.create<T>(path, body, { signal: within, limiter, timeoutMs: reviewDeadlineMs });
      } catch (err) {
        if (attempt >= attempts || !isRetryable(err)) throw err;
        await clock.sleep(waitMs * (1 + random() * jitter), within);
        waitMs *= factor;
      }
    }
  });
}

function isRetryable(err: unknown): boolean {
  return err instanceof KubeletError && retryableReasons.has(err.reason);
}
