import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { StartMetrics } from './start-metrics.ts';

test('counts starts and failed starts', () => {
  const registry = new Metrics();
  const starts = new StartMetrics(registry);
  starts.pod(false);
  starts.pod(true);
  starts.podFailed(true);
  starts.container('container');
  starts.container('init_container');
  starts.containerFailed('init_container', 'ErrImagePull');
  const samples = registry
    .render()
    .split('\n')
    .filter((line) => line.startsWith('kubelet_started_'));
  expect(samples.toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'kubelet_started_containers_errors_total{container_type="init_container",code="ErrImagePull"} 1',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_started_containers_total{container_type="init_container"} 1',
    'kubelet_started_pods_errors_total 1',
    'kubelet_started_pods_total 2',
    'kubelet_started_user_namespaced_pods_errors_total 1',
    'kubelet_started_user_namespaced_pods_total 1',
  ]);
});

test('counts image volumes that were mounted, failed to mount, or were not tried', () => {
  const registry = new Metrics();
  const starts = new StartMetrics(registry);
  starts.imageVolumes(2, 'mounted');
  starts.imageVolumes(1, 'failed');
  starts.imageVolumes(1, undefined);
  const samples = registry
    .render()
    .split('\n')
    .filter((line) => line.startsWith('kubelet_image_volume_'));
  expect(samples).toEqual([
    'kubelet_image_volume_mounted_errors_total 1',
    'kubelet_image_volume_mounted_succeed_total 2',
    'kubelet_image_volume_requested_total 4',
  ]);
});
