import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import { parsePrometheusText, sampleOf } from '../../test/clients/prometheus-text.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { Metrics } from '../base/metrics.ts';
import { nodeInfoMetrics } from './node-info-metrics.ts';
import { PlegMetrics } from './pleg-metrics.ts';
import { podCountMetrics } from './pod-count-metrics.ts';
import { WorkMetrics } from './work-metrics.ts';

test('records worker steps, sandboxes, cgroups and orphaned directories', () => {
  const registry = new Metrics();
  const metrics = new WorkMetrics(registry);
  metrics.step('create', 0.2);
  metrics.sandbox('', 0.3, false);
  metrics.sandbox('kata', 0.3, true);
  metrics.cgroup('destroy', 0.001);
  metrics.orphan();
  metrics.clearedDirectories(3, 1);
  metrics.hooks.fellBackToHttp();
  metrics.hooks.sleepCutShort();
  const samples = parsePrometheusText(registry.render());
  expect(
    sampleOf(samples, 'kubelet_pod_worker_duration_seconds', { operation_type: 'create', le: '0.25' }).value,
  ).toBe(1);
  expect(sampleOf(samples, 'kubelet_run_podsandbox_errors_total', { runtime_handler: 'kata' }).value).toBe(1);
  expect(
    sampleOf(samples, 'kubelet_cgroup_manager_duration_seconds', { operation_type: 'destroy', le: '0.005' })
      .value,
  ).toBe(1);
  expect(sampleOf(samples, 'kubelet_orphaned_runtime_pods_total').value).toBe(1);
  expect(sampleOf(samples, 'kubelet_lifecycle_handler_http_fallbacks_total').value).toBe(1);
  expect(sampleOf(samples, 'kubelet_sleep_action_terminated_early_total').value).toBe(1);
  expect(sampleOf(samples, 'kubelet_orphan_pod_cleaned_volumes_errors').value).toBe(1);
});

test.each([
  ['OutOfcpu', 'OutOfcpu'],
  ['OutOfnvidia.com/gpu', 'OutOfExtendedResources'],
  ['SomethingElse', 'Other'],
])('a refusal for %s counts as %s', (reason, label) => {
  const registry = new Metrics();
  new WorkMetrics(registry).rejected(reason);
  expect(registry.render()).toContain(`kubelet_admission_rejections_total{reason="${label}"} 1\n`);
});

test('records duration, interval and time of relists, and the event stream', () => {
  const registry = new Metrics();
  const now = { ms: 10_000 };
  const metrics = new PlegMetrics(registry, { now: () => now.ms, monotonic: () => now.ms });
  metrics.observeRelist(0.3);
  now.ms = 12_000;
  metrics.observeRelist(0.3);
  metrics.observePodRelist(0.02);
  metrics.streamOpened();
  metrics.streamBroke();
  metrics.eventReceived(11_960);
  const samples = parsePrometheusText(registry.render());
  expect(sampleOf(samples, 'kubelet_pleg_relist_duration_seconds', { le: '0.5' }).value).toBe(2);
  expect(sampleOf(samples, 'kubelet_pleg_pod_relist_duration_seconds', { le: '0.025' }).value).toBe(1);
  expect(sampleOf(samples, 'kubelet_pleg_relist_interval_seconds', { le: '2.5' }).value).toBe(1);
  expect(sampleOf(samples, 'kubelet_pleg_relist_interval_seconds', { le: '1' }).value).toBe(0);
  expect(sampleOf(samples, 'kubelet_pleg_last_seen_seconds').value).toBe(12);
  expect(sampleOf(samples, 'kubelet_evented_pleg_connection_success_count').value).toBe(1);
  expect(sampleOf(samples, 'kubelet_evented_pleg_connection_error_count').value).toBe(1);
  expect(sampleOf(samples, 'kubelet_evented_pleg_connection_latency_seconds', { le: '0.05' }).value).toBe(1);
  expect(sampleOf(samples, 'kubelet_pleg_discard_events').value).toBe(0);
});

describe('pods by lifecycle and source', () => {
  const syncing: PodLifecycle = {
    state: 'syncing',
    startedAtMs: 0,
    waiting: {},
    explain: '',
    explainSinceMs: 0,
  };
  const terminated: PodLifecycle = { state: 'terminated', startedAtMs: 0, atMs: 0, cleaned: true };
  const registry = new Metrics();
  const debugged = aPod();
  const ephemeral = {
    ...debugged,
    spec: { ...debugged.spec, containers: [], ephemeralContainers: [aContainer({ name: 'd' })] },
  };
  podCountMetrics({
    registry,
    desired: {
      all: () => [
        { uid: 'a', source: 'api', pod: ephemeral },
        { uid: 'b', source: 'api', pod: aPod() },
        { uid: 'c', source: 'file', pod: aPod() },
      ],
    },
    observed: { all: () => new Map([['d', {}]]) },
    lifecycles: {
      all: () =>
        new Map<string, PodLifecycle>([
          ['a', syncing],
          ['b', terminated],
          ['c', syncing],
          ['d', terminated],
          ['e', terminated],
        ]),
    },
  });
  const samples = parsePrometheusText(registry.render());
  test.each([
    ['kubelet_active_pods', { static: '' }, 1],
    ['kubelet_active_pods', { static: 'true' }, 1],
    ['kubelet_managed_ephemeral_containers', {}, 1],
    ['kubelet_working_pods', { lifecycle: 'sync', config: 'desired', static: '' }, 1],
    ['kubelet_working_pods', { lifecycle: 'sync', config: 'desired', static: 'true' }, 1],
    ['kubelet_working_pods', { lifecycle: 'terminated', config: 'desired', static: '' }, 1],
    ['kubelet_working_pods', { lifecycle: 'terminated', config: 'runtime_only', static: 'unknown' }, 1],
    ['kubelet_working_pods', { lifecycle: 'terminated', config: 'orphan', static: '' }, 1],
    ['kubelet_working_pods', { lifecycle: 'terminating', config: 'desired', static: '' }, 0],
  ])('%s %j', (name, labels, value) => expect(sampleOf(samples, name, labels).value).toBe(value));
});

test('reports build info, cgroup version, the source of metrics, and a runtime that loses support', () => {
  const registry = new Metrics();
  const build = {
    major: '1',
    minor: '34',
    git_version: 'v1.37.0',
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: '',
    compiler: 'node',
    platform: 'linux/amd64',
  };
  nodeInfoMetrics(registry, { runtimeReportsConfig: false, cgroupVersion: 2, build });
  const samples = parsePrometheusText(registry.render());
  expect(
    sampleOf(samples, 'kubernetes_build_info', { git_version: 'v1.37.0', platform: 'linux/amd64' }).value,
  ).toBe(1);
  expect(sampleOf(samples, 'kubelet_cgroup_version').value).toBe(2);
  expect(sampleOf(samples, 'kubelet_metrics_provider', { provider: 'cadvisor' }).value).toBe(1);
  expect(sampleOf(samples, 'kubelet_cri_losing_support', { version: '1.38.0' }).value).toBe(1);
  const current = new Metrics();
  nodeInfoMetrics(current, { runtimeReportsConfig: true, cgroupVersion: 2, build });
  expect(current.render()).not.toContain('kubelet_cri_losing_support{');
});
