import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { ShutdownMetrics } from './shutdown-metrics.ts';

test('exposes the times of a shutdown in whole seconds, as upstream', () => {
  const registry = new Metrics();
  const metrics = new ShutdownMetrics(registry);
  metrics.started(1_795_109_111_938);
  metrics.ended(0);
  const values = registry
    .render()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(values).toEqual([
    'kubelet_graceful_shutdown_end_time_seconds 0',
    'kubelet_graceful_shutdown_start_time_seconds 1795109111',
  ]);
});
