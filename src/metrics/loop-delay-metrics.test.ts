import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { loopDelayMetrics } from './loop-delay-metrics.ts';

test('measures while the component runs, with the maximum of the last minute', async () => {
  const registry = new Metrics();
  const done: string[] = [];
  let observe: (delayMs: number) => void = () => undefined;
  const source = {
    start: (each: (delayMs: number) => void) => {
      done.push('start');
      observe = each;
    },
    stop: () => void done.push('stop'),
    watch: (forMs: number) => void done.push(`watch ${forMs}`),
    maxSinceMs: (sinceMs: number) => (sinceMs === 40_000 ? 300 : 0),
  };
  const component = loopDelayMetrics(registry, source, { monotonic: () => 100_000 });
  expect(done).toEqual([]);
  const stop = new AbortController();
  const { stopped } = await component.start(stop.signal);
  observe(300);
  expect(registry.render()).toContain('kubelet_event_loop_delay_max_seconds 0.3\n');
  expect(registry.render()).toContain('kubelet_event_loop_delay_seconds_bucket{le="0.25"} 0\n');
  expect(registry.render()).toContain('kubelet_event_loop_delay_seconds_bucket{le="0.5"} 1\n');
  stop.abort();
  await stopped;
  expect([done[0], done[1], done.at(-1)]).toEqual(['start', 'watch 150000', 'stop']);
});
