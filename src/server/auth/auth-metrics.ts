// Metrics of authentication and authorization on the secure port. Upstream: the metrics of authenticatorfactory,
// authorizerfactory and request/x509 in k8s.io/apiserver. Invariant: names, labels and buckets are upstream's.
import type { ApiClient } from '../../api/ports/api-client.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Metrics } from '../../base/metrics.ts';

type ReviewApi = Pick<ApiClient, 'create'>;

const secondBuckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
const day = 24 * 3600;
const lifetimeBuckets = [0, 1 / 48, 1 / 24, 1 / 12, 1 / 4, 1 / 2, 1, 2, 4, 7, 30, 90, 180, 360].map(
  (days) => days * day,
);

export class AuthMetrics {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #lifetimes;
  readonly #reviews;

  constructor(registry: Metrics, clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
    this.#lifetimes = registry.histogram({
      name: 'apiserver_client_certificate_expiration_seconds',
      help: 'Remaining lifetime of the client certificates that authenticated a request.',
      buckets: lifetimeBuckets,
    });
    this.#reviews = {
      authn: reviewFamilies(registry, 'authn', 'token reviews'),
      authz: reviewFamilies(registry, 'authz', 'access reviews'),
    };
  }

  observeCertificate(notAfterMs: number): void {
    this.#lifetimes.observe({}, (notAfterMs - this.#clock.now()) / 1000);
  }

  /** The same API, with every request to it measured by its HTTP status. */
  timed(kind: 'authn' | 'authz', api: ReviewApi): ReviewApi {
    const { seconds, total } = this.#reviews[kind];
    return {
      create: async (path, body, options) => {
        const startedMs = this.#clock.monotonic();
        let code = '201';
        try {
          return await api.create(path, body, options);
        } catch (err) {
          code = statusOf(err);
          throw err;
        } finally {
          total.inc({ code });
          seconds.observe({ code }, (this.#clock.monotonic() - startedMs) / 1000);
        }
      },
    };
  }
}

function reviewFamilies(registry: Metrics, kind: 'authn' | 'authz', what: string) {
  const name = `apiserver_delegated_${kind}_request`;
  return {
    total: registry.counter({
      name: `${name}_total`,
      help: `Requests of ${what} to the API server, by HTTP status.`,
      labels: ['code'],
    }),
    seconds: registry.histogram({
      name: `${name}_duration_seconds`,
      help: `Duration of ${what}, by HTTP status.`,
      labels: ['code'],
      buckets: secondBuckets,
    }),
  };
}

/** Upstream's label for a request without an answer is `<error>`. */
function statusOf(err: unknown): string {
  const code = err instanceof KubeletError ? err.details?.['code'] : undefined;
  return typeof code === 'number' ? `${code}` : '<error>';
}
