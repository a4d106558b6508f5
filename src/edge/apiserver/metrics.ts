// What the requests to the API server cost. Upstream: component-base/metrics/prometheus/restclient, whose names, labels and
// buckets these are.
import type { Metrics } from '../../base/metrics.ts';
import type { ApiClientObserver } from './client.ts';

const durations = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** Registers the metrics and returns what keeps them. */
export function restClientMetrics(metrics: Metrics): ApiClientObserver {
  const labels = ['verb', 'host'] as const;
  const total = metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by code, method and host.',
    labels: ['code', 'method', 'host'],
  });
  const duration = metrics.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long requests to the API server took until the answer began, by verb and host.',
    labels,
    buckets: durations,
  });
  const waited = metrics.histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'How long requests waited for the rate limit of this client, by verb and host.',
    labels,
    buckets: durations,
  });
  const requestSize = metrics.histogram({
    name: 'rest_client_request_size_bytes',
    help: 'How large requests to the API server were, by verb and host.',
    labels,
    buckets: sizes,
  });
  const responseSize = metrics.histogram({
    name: 'rest_client_response_size_bytes',
    help: 'How large answers of the API server were, by verb and host.',
    labels,
    buckets: sizes,
  });
  const retries = metrics.counter({
    name: 'rest_client_request_retries_total',
    help: 'Requests that were sent again since the server asked for it, by code, verb and host.',
    labels: ['code', 'verb', 'host'],
  });
  return {
    request: ({ code, host, method, requestBytes, seconds }) => {
      total.inc({ code, method, host });
      duration.observe({ verb: method, host }, seconds);
      requestSize.observe({ verb: method, host }, requestBytes);
    },
    answered: (method, host, bytes) => responseSize.observe({ verb: method, host }, bytes),
    waited: (method, host, seconds) => waited.observe({ verb: method, host }, seconds),
    retried: (method, host, code) => retries.inc({ code, verb: method, host }),
  };
}
