import { expect, test } from 'vitest';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Metrics } from '../base/metrics.ts';
import { ResizeMetrics } from './resize-metrics.ts';

test('counts resizes under upstream’s names', async () => {
  const registry = new Metrics();
  const resizes = new ResizeMetrics(registry);
  resizes.requested({ resource: 'cpu', requirement: 'limits', operation: 'increase' });
  resizes.infeasible('static_pod');
  resizes.acceptedAfterWait('pods_removed');
  resizes.took(70, true);
  let states: readonly object[] = [];
  const conditions = {
    all: () => new Map(states.map((state, index) => [asPodUid(String(index)), state])),
    changed: new Channel<PodUid>(),
  };
  const abort = new AbortController();
  await startComponent(resizes.follow(conditions), abort.signal);
  const set = (all: readonly object[]): void => {
    states = all;
    conditions.changed.push(asPodUid('0'));
  };
  set([
    { pending: { reason: 'Deferred' } },
    { pending: { reason: 'Deferred' }, inProgress: {} },
    { pending: { reason: 'Infeasible' } },
  ]);
  const samples = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_') && !line.includes('le="'));
  expect(samples()).toEqual([
    'kubelet_container_requested_resizes_total{resource="cpu",requirement="limits",operation="increase"} 1',
    'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 1',
    'kubelet_pod_in_progress_resizes 1',
    'kubelet_pod_infeasible_resizes_total{reason_detail="static_pod"} 1',
    'kubelet_pod_pending_resizes{reason="deferred"} 2',
    'kubelet_pod_pending_resizes{reason="infeasible"} 1',
    'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 70',
    'kubelet_pod_resize_duration_milliseconds_count{success="true"} 1',
  ]);
  set([]);
  expect(samples().filter((line) => line.includes('pending'))).toEqual([]);
  abort.abort();
});
