import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { VolumeMetrics } from './volume-metrics.ts';

test('times operations by plugin, name and outcome', () => {
  const metrics = new Metrics();
  const volumes = new VolumeMetrics(metrics);
  const plugin = 'kubernetes.io/secret';
  volumes.observe({ plugin, operation: 'volume_mount', seconds: 0.2, failed: false });
  volumes.observe({ plugin, operation: 'volume_mount', seconds: 3, failed: true });
  const labels = 'volume_plugin="kubernetes.io/secret",operation_name="volume_mount"';
  const text = metrics.render();
  expect(text).toContain(`${labels},status="success",migrated="false",le="0.25"} 1\n`);
  expect(text).toContain(`${labels},status="fail-unknown",migrated="false",le="2.5"} 0\n`);
});

test('counts volumes at each scrape, and drops series of removed ones', () => {
  const metrics = new Metrics();
  const volumes = new VolumeMetrics(metrics);
  let mounted = ['a', 'b', 'a'];
  volumes.countBy(() => ({ desired: ['a'], mounted }));
  const text = metrics.render();
  expect(text).toContain('volume_manager_total_volumes{plugin_name="a",state="actual_state_of_world"} 2\n');
  expect(text).toContain('volume_manager_total_volumes{plugin_name="a",state="desired_state_of_world"} 1\n');
  mounted = [];
  expect(metrics.render()).not.toContain('actual_state_of_world');
});

test('times measurements by metric source', () => {
  const metrics = new Metrics();
  const volumes = new VolumeMetrics(metrics);
  volumes.measured('du', 0.3);
  volumes.measured('fsquota', 0.001);
  const name = 'kubelet_volume_metric_collection_duration_seconds_bucket';
  const text = metrics.render();
  expect(text).toContain(`${name}{metric_source="du",le="0.25"} 0\n`);
  expect(text).toContain(`${name}{metric_source="fsquota",le="0.005"} 1\n`);
});
