import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { httpRequest } from './fixtures/requests.ts';
import type { HttpHandler } from './http-message.ts';
import { HttpMetrics } from './http-metrics.ts';
import { type RouteName, routeTable } from './route-table.ts';

function bench(handler: HttpHandler) {
  const registry = new Metrics();
  const clock = { ms: 0, monotonic: () => clock.ms };
  const routes = (
    ['health', 'pods', 'metrics', 'cadvisorMetrics', 'exec', 'profiles'] as RouteName[]
  ).flatMap((name) => routeTable.filter((row) => row.name === name));
  const handle = new HttpMetrics(registry, clock).instrument(
    'readwrite',
    routes.map((row) => ({ row, handle: () => ({ status: 200, headers: {}, body: '' }) })),
    handler,
  );
  const lines = (name: string): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`));
  return { clock, handle, lines };
}

test("counts requests by upstream's labels, and clients create no series", async () => {
  const { handle, lines } = bench(() => ({ status: 200, headers: {}, body: '' }));
  const asked = [
    'GET /pods',
    'GET /pods/x',
    'GET /healthz/ping',
    'GET /metrics',
    'GET /metrics/cadvisor',
    'GET /metrics/nothing',
    'POST /exec/a/b/c',
    'GET /debug/pprof/heap',
    'GET /made/up',
    'BREW /pods',
  ];
  for (const line of asked) await handle(httpRequest(line));
  const series = (path: string, method: string, long: boolean, count: number): string =>
    `kubelet_http_requests_total{long_running="${long}",method="${method}",path="${path}",server_type="readwrite"} ${count}`;
  expect(lines('kubelet_http_requests_total')).toEqual([
    series('pods', 'GET', false, 2),
    series('healthz', 'GET', false, 1),
    series('metrics', 'GET', false, 1),
    series('metrics/cadvisor', 'GET', false, 1),
    series('other', 'GET', false, 2),
    series('exec', 'POST', true, 1),
    series('debug', 'GET', true, 1),
    series('pods', 'other', false, 1),
  ]);
});

test('tracks requests in flight and their durations', async () => {
  let finish = (): void => undefined;
  const { clock, handle, lines } = bench(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    throw new Error('broken');
  });
  const answer = Promise.resolve(handle(httpRequest('GET /pods')));
  expect(lines('kubelet_http_inflight_requests')[0]).toMatch(/ 1$/);
  clock.ms = 2000;
  finish();
  await expect(answer).rejects.toThrow('broken');
  expect(lines('kubelet_http_inflight_requests')[0]).toMatch(/ 0$/);
  expect(lines('kubelet_http_requests_duration_seconds_sum')[0]).toMatch(/ 2$/);
});
