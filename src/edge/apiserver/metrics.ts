// Metrics of the requests to the API server. Upstream: component-base/metrics/prometheus/restclient, whose names, labels,
// buckets and help texts these are.
import type { Metrics } from '../../base/metrics.ts';
import type { ApiClientObserver } from './client.ts';

const durations = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** Registers the metrics and returns the observer that updates them. */
export function restClientMetrics(metrics: Metrics): ApiClientObserver {
  const labels = ['verb', 'host'] as const;
  const total = metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  });
  const duration = metrics.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labels,
    buckets: durations,
  });
  const waited = metrics.histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'Client side rate limiter latency in seconds. Broken down by verb, and host.',
    labels,
    buckets: durations,
  });
  const requestSize = metrics.histogram({
    name: 'rest_client_request_size_bytes',
    help: 'Request size in bytes. Broken down by verb and host.',
    labels,
    buckets: sizes,
  });
  const responseSize = metrics.histogram({
    name: 'rest_client_response_size_bytes',
    help: 'Response size in bytes. Broken down by verb and host.',
    labels,
    buckets: sizes,
  });
  const retries = metrics.counter({
    name: 'rest_client_request_retries_total',
    help: 'Number of request retries, partitioned by status code, verb, and host.',
    labels: ['code', 'verb', 'host'],
  });
  const authorityReloads = metrics.counter({
    name: 'rest_client_transport_ca_reload_total',
    help: 'Number of times a CA reload is attempted, partitioned by the result and reason for the reload attempt',
    labels: ['result', 'reason'],
  });
  return {
    request: ({ code, host, method, requestBytes, seconds }) => {
      total.inc({ code, method, host });
      duration.observe({ verb: method, host }, seconds);
      requestSize.observe({ verb: method, host }, requestBytes);
    },
    responded: (method, host, bytes) => responseSize.observe({ verb: method, host }, bytes),
    waited: (method, host, seconds) => waited.observe({ verb: method, host }, seconds),
    retried: (method, host, code) => retries.inc({ code, verb: method, host }),
    reloadedAuthority: (result, reason) => authorityReloads.inc({ result, reason }),
  };
}
