// The fields registryPullQPS to volumeStatsAggPeriod, in upstream's order: rates, health, DNS, node status, image garbage collection.
import { noneHere } from '../effect.ts';
import { boolean, choice, duration, int32, strings, text } from '../schema.ts';

const imagePullVerificationPolicies = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

export const node = {
  registryPullQPS: int32({
    default: 5,
    keepsZero: true,
    flag: 'registry-qps',
    min: 0,
    applies: 'now',
    doc: 'Image pulls per second. 0 means unlimited.',
  }),
  registryBurst: int32({
    default: 10,
    flag: 'registry-burst',
    min: 0,
    applies: 'now',
    doc: 'Burst of image pulls above registryPullQPS. Unused if that is 0.',
  }),
  imagePullCredentialsVerificationPolicy: choice(['', ...imagePullVerificationPolicies], {
    gate: 'KubeletEnsureSecretPulledImages',
    defaultNote: 'NeverVerifyPreloadedImages when the gate is on',
    doc: 'Whether a pod needs valid pull credentials for an image that is already on the node. NeverVerify: never; NeverVerifyPreloadedImages: only for images that this kubelet pulled; NeverVerifyAllowlistedImages: the same, but of the preloaded images only the allowlist is exempt; AlwaysVerify: always.',
  }),
  preloadedImagesVerificationAllowlist: strings({
    gate: 'KubeletEnsureSecretPulledImages',
    doc: 'Images exempt under NeverVerifyAllowlistedImages, without tag or digest. A trailing "/*" matches everything below.',
  }),
  eventRecordQPS: int32({
    default: 50,
    keepsZero: true,
    flag: 'event-qps',
    min: 0,
    applies: 'now',
    doc: 'Events sent per second. 0 means unlimited.',
  }),
  eventBurst: int32({
    default: 100,
    flag: 'event-burst',
    min: 0,
    applies: 'now',
    doc: 'Burst of events above eventRecordQPS. Unused if that is 0.',
  }),
  enableDebuggingHandlers: boolean({
    default: true,
    keepsZero: true,
    flag: 'enable-debugging-handlers',
    doc: 'Serve run, exec, attach, port-forward, container logs and the other debugging endpoints.',
  }),
  enableContentionProfiling: boolean({
    flag: 'contention-profiling',
    effect: noneHere('a Node.js process has no lock contention to profile'),
    doc: 'Profile lock contention.',
  }),
  healthzPort: int32({
    default: 10248,
    keepsZero: true,
    flag: 'healthz-port',
    min: 0,
    max: 65535,
    doc: 'Port of the health endpoint, which is served without TLS. 0 disables it.',
  }),
  healthzBindAddress: text({
    default: '127.0.0.1',
    flag: { name: 'healthz-bind-address', type: 'ip' },
    doc: 'IP address of the health endpoint.',
  }),
  oomScoreAdj: int32({
    default: -999,
    keepsZero: true,
    flag: 'oom-score-adj',
    min: -1000,
    max: 1000,
    doc: "oom_score_adj of the kubelet's own process.",
  }),
  clusterDomain: text({
    flag: 'cluster-domain',
    applies: 'new-pods',
    doc: "DNS domain of the cluster. Containers search it before the host's search domains.",
  }),
  clusterDNS: strings({
    flag: 'cluster-dns',
    applies: 'new-pods',
    doc: 'IP addresses of the cluster DNS servers, for pods with dnsPolicy ClusterFirst. All of them must serve the same records.',
  }),
  streamingConnectionIdleTimeout: duration({
    default: '4h',
    flag: 'streaming-connection-idle-timeout',
    applies: 'now',
    doc: 'How long an exec, attach or port-forward stream may be idle before it is closed.',
  }),
  nodeStatusUpdateFrequency: duration({
    default: '10s',
    flag: 'node-status-update-frequency',
    applies: 'now',
    doc: 'How often the node status is computed. It is reported if it changed.',
  }),
  nodeStatusReportFrequency: duration({
    default: '5m',
    defaultNote: 'nodeStatusUpdateFrequency, if the same file sets that',
    applies: 'now',
    doc: 'How often an unchanged node status is reported.',
  }),
  nodeLeaseDurationSeconds: int32({
    default: 40,
    min: 1,
    applies: 'now',
    doc: 'Duration of the node lease in seconds. The kubelet renews it every quarter of that.',
  }),
  imageMinimumGCAge: duration({
    default: '2m',
    flag: 'minimum-image-ttl-duration',
    applies: 'now',
    doc: 'Minimum age of an unused image before it is garbage-collected.',
  }),
  imageMaximumGCAge: duration({
    gate: 'ImageMaximumGCAge',
    applies: 'now',
    doc: 'An image that is unused for longer than this is garbage-collected regardless of disk usage. 0s disables this.',
  }),
  imageGCHighThresholdPercent: int32({
    default: 85,
    keepsZero: true,
    flag: 'image-gc-high-threshold',
    min: 0,
    max: 100,
    applies: 'now',
    doc: 'Percentage of disk usage above which image garbage collection runs. 100 disables it.',
  }),
  imageGCLowThresholdPercent: int32({
    default: 80,
    keepsZero: true,
    flag: 'image-gc-low-threshold',
    min: 0,
    max: 100,
    applies: 'now',
    doc: 'Percentage of disk usage down to which image garbage collection frees space. Must be below imageGCHighThresholdPercent.',
  }),
  volumeStatsAggPeriod: duration({
    default: '1m',
    flag: 'volume-stats-agg-period',
    applies: 'now',
    doc: 'How often the disk usage of volumes is measured. A negative duration disables it.',
  }),
};
