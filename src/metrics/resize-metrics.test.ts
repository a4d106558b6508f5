import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Metrics } from '../base/metrics.ts';
import { ResizeMetrics } from './resize-metrics.ts';

const withPriority = (priority: number | undefined): Pod => aPod(priority === undefined ? {} : { priority });

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
  const priorities = [2_000_000_000, undefined, -1_000];
  const desired = {
    get: (uid: PodUid) =>
      Number(uid) < priorities.length ? { pod: withPriority(priorities[Number(uid)]) } : undefined,
  };
  const abort = new AbortController();
  await startComponent(resizes.follow(conditions, desired), abort.signal);
  const set = (all: readonly object[]): void => {
    states = all;
    conditions.changed.push(asPodUid('0'));
  };
  set([
    { pending: { reason: 'Deferred' } },
    { pending: { reason: 'Deferred' }, inProgress: {} },
    { pending: { reason: 'Infeasible' } },
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
    'kubelet_pod_pending_resizes{reason="deferred",priority_bucket="system-critical"} 1',
    'kubelet_pod_pending_resizes{reason="deferred",priority_bucket="normal"} 1',
    'kubelet_pod_pending_resizes{reason="infeasible",priority_bucket="very-low"} 1',
    'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 70',
    'kubelet_pod_resize_duration_milliseconds_count{success="true"} 1',
  ]);
  set([]);
  expect(samples().filter((line) => line.includes('pending'))).toEqual([]);
  abort.abort();
});

const buckets = [
  [2_000_000_000, 'system-critical'],
  [1_999_999_999, 'high'],
  [99_999, 'medium'],
  [0, 'normal'],
  [undefined, 'normal'],
  [-1, 'low'],
  [-999, 'low'],
  [-1_000, 'very-low'],
] as const;
test.each(buckets)('a pod of priority %s that waited counts as %s', (priority, bucket) => {
  const registry = new Metrics();
  new ResizeMetrics(registry).deferred('accepted', 7, withPriority(priority));
  expect(registry.render()).toContain(
    `kubelet_pod_deferred_resize_duration_seconds_sum{resolution="accepted",priority_bucket="${bucket}"} 7`,
  );
});

test('a removed pod that waited counts as unknown', () => {
  const registry = new Metrics();
  new ResizeMetrics(registry).deferred('terminated', 7, undefined);
  expect(registry.render()).toContain(
    'kubelet_pod_deferred_resize_duration_seconds_bucket{resolution="terminated",priority_bucket="unknown",le="10"} 1',
  );
});
