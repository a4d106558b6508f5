// Metrics of image pulls and of credential provider plugins. Names, labels and buckets are upstream's.
// Upstream: pkg/kubelet/metrics and pkg/credentialprovider/plugin/metrics.go.
import type { Metrics } from '../base/metrics.ts';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** Lower bounds (exclusive), largest first. */
const sizeLabels: readonly (readonly [number, string])[] = [
  [100 * gibibyte, 'GT100GB'],
  [60 * gibibyte, '60GB-100GB'],
  [40 * gibibyte, '40GB-60GB'],
  [30 * gibibyte, '30GB-40GB'],
  [20 * gibibyte, '20GB-30GB'],
  [10 * gibibyte, '10GB-20GB'],
  [5 * gibibyte, '5GB-10GB'],
  [gibibyte, '1GB-5GB'],
  [500 * mebibyte, '500MB-1GB'],
  [100 * mebibyte, '100MB-500MB'],
  [10 * mebibyte, '10MB-100MB'],
  [0, '0-10MB'],
];

export class ImageMetrics {
  readonly #pulls;
  readonly #pluginDurations;
  readonly #pluginErrors;
  readonly #pluginConfig;

  constructor(metrics: Metrics) {
    this.#pulls = metrics.histogram({
      name: 'kubelet_image_pull_duration_seconds',
      help: 'Duration of image pulls, including waiting, by size of the image.',
      labels: ['image_size_in_bytes'],
      buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
    });
    this.#pluginDurations = metrics.histogram({
      name: 'kubelet_credential_provider_plugin_duration',
      help: 'Duration of credential provider plugins, in seconds, by plugin.',
      labels: ['plugin_name'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    this.#pluginErrors = metrics.counter({
      name: 'kubelet_credential_provider_plugin_errors_total',
      help: 'Failed runs of credential provider plugins, by plugin.',
      labels: ['plugin_name'],
    });
    this.#pluginConfig = metrics.gauge({
      name: 'kubelet_credential_provider_config_info',
      help: 'The hash of the credential provider configuration; always 1.',
      labels: ['hash'],
    });
  }

  observePull(sizeBytes: number, seconds: number): void {
    this.#pulls.observe({ image_size_in_bytes: sizeLabel(sizeBytes) }, seconds);
  }

  observePlugin(plugin: string, seconds: number, failed: boolean): void {
    this.#pluginDurations.observe({ plugin_name: plugin }, seconds);
    if (failed) this.#pluginErrors.inc({ plugin_name: plugin });
  }

  setPluginConfig(hash: string): void {
    this.#pluginConfig.set({ hash }, 1);
  }
}

function sizeLabel(bytes: number): string {
  return sizeLabels.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
