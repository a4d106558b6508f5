import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { ClusterMetrics } from './cluster-metrics.ts';

test('the times of the start are written once, mirror pods are counted when asked', () => {
  const state = { nowMs: 61_000, mirrors: 2 };
  const registry = new Metrics();
  const metrics = new ClusterMetrics({
    registry,
    mirrorPods: () => state.mirrors,
    clock: { now: () => state.nowMs },
    bootedAtMs: () => 1_000,
  });
  state.nowMs = 61_500;
  metrics.attempting();
  state.nowMs = 62_500;
  metrics.attempting();
  metrics.observeNode({ isReady: false });
  state.nowMs = 64_000;
  metrics.observeNode({ isReady: true });
  state.nowMs = 69_000;
  metrics.observeNode({ isReady: true });
  metrics.observeStatusSync(0.02);
  state.mirrors = 3;
  const lines = registry.render().split('\n');
  expect(lines.filter((line) => line.startsWith('kubelet_node_startup_'))).toEqual([
    'kubelet_node_startup_duration_seconds 63',
    'kubelet_node_startup_post_registration_duration_seconds 1.5',
    'kubelet_node_startup_pre_kubelet_duration_seconds 60',
    'kubelet_node_startup_pre_registration_duration_seconds 0.5',
    'kubelet_node_startup_registration_duration_seconds 1',
  ]);
  expect(lines).toContain('kubelet_mirror_pods 3');
  expect(lines).toContain('kubelet_pod_status_sync_duration_seconds_bucket{le="0.05"} 1');
});
