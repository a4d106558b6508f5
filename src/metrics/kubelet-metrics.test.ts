import { expect, test } from 'vitest';
import { KubeletMetrics } from './kubelet-metrics.ts';

type Deps = ConstructorParameters<typeof KubeletMetrics>[0];

function metrics(over: Partial<Deps> = {}): KubeletMetrics {
  return new KubeletMetrics({
    desired: { all: () => [] },
    observed: { all: () => new Map() },
    gates: [],
    nodeName: 'n',
    clock: { now: () => 5_000, monotonic: () => 0 },
    ...over,
  });
}
/** The samples of one metric. */
const samples = (from: KubeletMetrics, name: string): string[] =>
  from
    .render()
    .split('\n')
    .filter((line) => line.startsWith(name));

test('counts and times runtime operations, and counts failures', () => {
  const it = metrics();
  it.observeRuntime({ operation: 'list_containers', seconds: 0.004 });
  it.observeRuntime({ operation: 'list_containers', seconds: 0.02, error: new Error('x') });
  it.observeRuntime({ operation: 'pull_image', seconds: 1_000 });
  expect(samples(it, 'kubelet_runtime_operations_total')).toEqual([
    'kubelet_runtime_operations_total{operation_type="list_containers"} 2',
    'kubelet_runtime_operations_total{operation_type="pull_image"} 1',
  ]);
  expect(samples(it, 'kubelet_runtime_operations_errors_total')).toEqual([
    'kubelet_runtime_operations_errors_total{operation_type="list_containers"} 1',
  ]);
  const durations = samples(it, 'kubelet_runtime_operations_duration_seconds_bucket{operation_type="l');
  expect(durations.slice(0, 3)).toEqual(
    ['0.005"} 1', '0.0125"} 1', '0.03125"} 2'].map(
      (end) =>
        `kubelet_runtime_operations_duration_seconds_bucket{operation_type="list_containers",le="${end}`,
    ),
  );
  expect(durations).toHaveLength(15);
});

test('times relists', () => {
  const it = metrics();
  it.pleg.observeRelist(0.3);
  expect(samples(it, 'kubelet_pleg_relist_duration_seconds_')).toContain(
    'kubelet_pleg_relist_duration_seconds_bucket{le="0.5"} 1',
  );
});

test('counts pods and containers at each scrape', () => {
  const desired: { source: string }[] = [];
  const pods = new Map<string, { sandboxes: { ready: boolean }[]; containers: { state: string }[] }>();
  const it = metrics({ desired: { all: () => desired }, observed: { all: () => pods } });
  const counts = (): string[] => samples(it, 'kubelet_desired').concat(samples(it, 'kubelet_running'));
  expect(counts()).toEqual([
    'kubelet_desired_pods{static=""} 0',
    'kubelet_desired_pods{static="true"} 0',
    'kubelet_running_pods 0',
  ]);
  desired.push({ source: 'file' }, { source: 'http' }, { source: 'api' });
  pods.set('a', { sandboxes: [{ ready: true }], containers: [{ state: 'running' }, { state: 'exited' }] });
  pods.set('b', { sandboxes: [{ ready: false }], containers: [{ state: 'exited' }] });
  expect(counts()).toEqual([
    'kubelet_desired_pods{static=""} 1',
    'kubelet_desired_pods{static="true"} 2',
    'kubelet_running_containers{container_state="exited"} 2',
    'kubelet_running_containers{container_state="running"} 1',
    'kubelet_running_pods 1',
  ]);
});

test('reports the node name and feature gates', () => {
  const it = metrics({
    gates: [
      { name: 'A', stage: 'ALPHA', enabled: false },
      { name: 'B', stage: '', enabled: true },
    ],
  });
  expect(samples(it, 'kubelet_node_name')).toEqual(['kubelet_node_name{node="n"} 1']);
  expect(samples(it, 'kubernetes_feature')).toEqual([
    'kubernetes_feature_enabled{name="A",stage="ALPHA"} 0',
    'kubernetes_feature_enabled{name="B",stage=""} 1',
  ]);
});
