import { expect, test } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { ImageMetrics } from './image-metrics.ts';

const mebibyte = 1024 ** 2;

test.each([
  [0, 'N/A'],
  [1, '0-10MB'],
  [10 * mebibyte, '0-10MB'],
  [10 * mebibyte + 1, '10MB-100MB'],
  [600 * mebibyte, '500MB-1GB'],
  [1024 * mebibyte, '500MB-1GB'],
  [1025 * mebibyte, '1GB-5GB'],
  [101 * 1024 * mebibyte, 'GT100GB'],
])('a pull of %i bytes counts as %s', (bytes, label) => {
  const metrics = new Metrics();
  new ImageMetrics(metrics).observePull(bytes, 3);
  expect(metrics.render()).toContain(
    `kubelet_image_pull_duration_seconds_bucket{image_size_in_bytes="${label}",le="5"} 1\n`,
  );
});

test('records duration, errors and configuration of credential provider plugins', () => {
  const metrics = new Metrics();
  const images = new ImageMetrics(metrics);
  images.observePlugin('ecr', 0.2, false);
  images.observePlugin('ecr', 0.2, true);
  images.setPluginConfig('sha256:1');
  const text = metrics.render();
  expect(text).toContain('kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"} 2\n');
  expect(text).toContain('kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 1\n');
  expect(text).toContain('kubelet_credential_provider_config_info{hash="sha256:1"} 1\n');
});
