import { expect, test } from 'vitest';
import { Metrics } from '../../base/metrics.ts';
import { restClientMetrics } from './metrics.ts';

test('counts requests, responses, waits and retries under upstream’s names and labels', () => {
  const metrics = new Metrics();
  const observer = restClientMetrics(metrics);
  const host = 'api:6443';
  observer.request({ method: 'GET', host, code: '200', seconds: 0.02, requestBytes: 0 });
  observer.request({ method: 'GET', host, code: '<error>', seconds: 5, requestBytes: 100 });
  observer.responded?.('GET', host, 300);
  observer.waited('GET', host, 0.3);
  observer.retried('GET', host, '429');
  observer.reloadedAuthority?.('failure', 'empty');
  const text = metrics.render();
  for (const line of [
    'rest_client_requests_total{code="200",method="GET",host="api:6443"} 1',
    'rest_client_requests_total{code="<error>",method="GET",host="api:6443"} 1',
    'rest_client_request_duration_seconds_bucket{verb="GET",host="api:6443",le="0.025"} 1',
    'rest_client_request_duration_seconds_count{verb="GET",host="api:6443"} 2',
    'rest_client_request_size_bytes_bucket{verb="GET",host="api:6443",le="256"} 2',
    'rest_client_response_size_bytes_bucket{verb="GET",host="api:6443",le="512"} 1',
    'rest_client_rate_limiter_duration_seconds_bucket{verb="GET",host="api:6443",le="0.5"} 1',
    'rest_client_request_retries_total{code="429",verb="GET",host="api:6443"} 1',
    'rest_client_transport_ca_reload_total{result="failure",reason="empty"} 1',
  ])
    expect(text).toContain(`${line}\n`);
});
