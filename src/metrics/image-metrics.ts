// Metrics of image pulls and of credential provider plugins. Names, labels and buckets are upstream's.
// Upstream: pkg/kubelet/metrics, pkg/kubelet/images, its pullmanager and pkg/credentialprovider/plugin/metrics.go.
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
  readonly #ensured;
  readonly #accessChecks;
  readonly #intents;
  readonly #records;
  readonly #collected;

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
    this.#ensured = metrics.counter({
      name: 'kubelet_image_manager_ensure_image_requests_total',
      help: 'Requests for an image, by pull policy, whether it was present, and whether it had to be pulled.',
      labels: ['pull_policy', 'present_locally', 'pull_required'],
    });
    this.#accessChecks = metrics.counter({
      name: 'kubelet_imagemanager_image_mustpull_checks_total',
      help: 'Checks whether a pod may use a present image without its credentials being verified, by result.',
      labels: ['result'],
    });
    this.#collected = metrics.counter({
      name: 'kubelet_image_garbage_collected_total',
      help: 'Images that garbage collection removed, by reason: age, or space for disk usage and eviction.',
      labels: ['reason'],
    });
    this.#intents = sizes(metrics, 'pullintents', 'ImagePullIntents');
    this.#records = sizes(metrics, 'pulledrecords', 'ImagePulledRecords');
  }

  observePull(sizeBytes: number, seconds: number): void {
    this.#pulls.observe({ image_size_in_bytes: sizeLabel(sizeBytes) }, seconds);
  }

  countEnsure(policy: string, isPresent: boolean | undefined, needsPull: boolean | undefined): void {
    this.#ensured.inc({
      pull_policy: policy.toLowerCase(),
      present_locally: String(isPresent ?? 'unknown'),
      pull_required: String(needsPull ?? 'unknown'),
    });
  }

  countCollected(reason: string): void {
    this.#collected.inc({ reason });
  }

  countAccessCheck(result: string): void {
    this.#accessChecks.inc({ result });
  }

  setPullIntents(of: RecordSizes): void {
    this.#intents.set(of);
  }

  setPulledRecords(of: RecordSizes): void {
    this.#records.set(of);
  }

  observePlugin(plugin: string, seconds: number, failed: boolean): void {
    this.#pluginDurations.observe({ plugin_name: plugin }, seconds);
    if (failed) this.#pluginErrors.inc({ plugin_name: plugin });
  }

  setPluginConfig(hash: string): void {
    this.#pluginConfig.set({ hash }, 1);
  }
}

interface RecordSizes {
  readonly onDisk: number;
  readonly cachedPercent: number;
}

function sizes(metrics: Metrics, name: string, kind: string): { set(of: RecordSizes): void } {
  const onDisk = metrics.gauge({
    name: `kubelet_imagemanager_ondisk_${name}`,
    help: `Number of ${kind} on disk.`,
  });
  const cached = metrics.gauge({
    name: `kubelet_imagemanager_inmemory_${name}_usage_percent`,
    help: `Usage of the cache of ${kind}, in percent.`,
  });
  return {
    set: (of) => {
      onDisk.set({}, of.onDisk);
      cached.set({}, of.cachedPercent);
    },
  };
}

function sizeLabel(bytes: number): string {
  return sizeLabels.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
