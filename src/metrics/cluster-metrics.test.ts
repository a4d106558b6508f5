import { expect, test } from 'vitest';
import type { Node } from '../api/k8s/types.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Metrics } from '../base/metrics.ts';
import { ClusterMetrics } from './cluster-metrics.ts';

test('sets the start-up durations once, and counts mirror pods at each scrape', async () => {
  const state = { nowMs: 61_000, mirrors: 2 };
  let node: Node | undefined;
  const registry = new Metrics();
  const metrics = new ClusterMetrics({
    registry,
    mirrorPods: () => state.mirrors,
    clock: { now: () => state.nowMs },
    bootedAtMs: 1_000,
  });
  const ownNode = { get: () => node, changed: new Channel<void>() };
  const abort = new AbortController();
  await startComponent(metrics.follow(ownNode), abort.signal);
  const observe = (status: string): void => {
    node = { status: { conditions: [{ type: 'Ready', status }] } };
    ownNode.changed.push();
  };
  ownNode.changed.push();
  state.nowMs = 61_500;
  metrics.attempting();
  state.nowMs = 62_500;
  metrics.attempting();
  observe('False');
  state.nowMs = 64_000;
  observe('True');
  state.nowMs = 69_000;
  observe('True');
  metrics.observeStatusSync(0.02);
  state.mirrors = 3;
  abort.abort();
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
