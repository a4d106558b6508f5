import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { ClusterMetrics } from './cluster-metrics.ts';

test('the times of the start are written once, mirror pods are counted when asked', () => {
  const state = { nowMs: 1_000, mirrors: 2 };
  const registry = new Metrics();
  const metrics = new ClusterMetrics({ registry, mirrorPods: () => state.mirrors, nowMs: () => state.nowMs });
  state.nowMs = 2_500;
  metrics.observeNode({ isReady: false });
  state.nowMs = 4_000;
  metrics.observeNode({ isReady: true });
  state.nowMs = 9_000;
  metrics.observeNode({ isReady: true });
  metrics.observeStatusSync(0.02);
  state.mirrors = 3;
  const lines = registry.render().split('\n');
  expect(lines).toContain('kubelet_node_startup_registration_duration_seconds 1.5');
  expect(lines).toContain('kubelet_node_startup_duration_seconds 3');
  expect(lines).toContain('kubelet_mirror_pods 3');
  expect(lines).toContain('kubelet_pod_status_sync_duration_seconds_bucket{le="0.05"} 1');
});
