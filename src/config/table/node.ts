// Settings of rates, health, node status and image collection: registryPullQPS … volumeStatsAggPeriod, in upstream's order.
import { missing, noneHere, noneYet } from '../effect.ts';
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
    doc: 'Image pulls per second. 0 is unlimited.',
  }),
  registryBurst: int32({
    default: 10,
    flag: 'registry-burst',
    min: 0,
    doc: 'Image pulls that may start at once before registryPullQPS holds them back. Unused when that is 0.',
  }),
  imagePullCredentialsVerificationPolicy: choice(['', ...imagePullVerificationPolicies], {
    gate: 'KubeletEnsureSecretPulledImages',
    defaultNote: 'NeverVerifyPreloadedImages when the gate is on',
    doc: 'Whether a pod must prove its right to an image that is already on the node. NeverVerify: never; NeverVerifyPreloadedImages: only for images this kubelet pulled; NeverVerifyAllowlistedImages: the same, but of the images others brought only the allowlist is exempt; AlwaysVerify: always.',
  }),
  preloadedImagesVerificationAllowlist: strings({
    gate: 'KubeletEnsureSecretPulledImages',
    doc: 'Images exempt under NeverVerifyAllowlistedImages, without tag or digest. A last segment "/*" stands for everything below.',
  }),
  eventRecordQPS: int32({
    default: 50,
    keepsZero: true,
    flag: 'event-qps',
    min: 0,
    doc: 'Events sent per second. 0 is unlimited.',
  }),
  eventBurst: int32({
    default: 100,
    flag: 'event-burst',
    min: 0,
    doc: 'Events that may be sent at once before eventRecordQPS holds them back. Unused when that is 0.',
  }),
  enableDebuggingHandlers: boolean({
    default: true,
    keepsZero: true,
    flag: 'enable-debugging-handlers',
    doc: 'Serve run, exec, attach, port forwarding, container logs and the other endpoints that reach into pods.',
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
    doc: 'Port of the plain health endpoint. 0 is off.',
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
    doc: "DNS domain of the cluster, searched by every container before the host's own search domains.",
  }),
  clusterDNS: strings({
    flag: 'cluster-dns',
    doc: 'IP addresses of the cluster DNS servers, given to pods with dnsPolicy ClusterFirst. All must answer alike.',
  }),
  streamingConnectionIdleTimeout: duration({
    default: '4h',
    flag: 'streaming-connection-idle-timeout',
    doc: 'How long a stream of exec, attach or port-forward may pass no byte before it is closed.',
  }),
  nodeStatusUpdateFrequency: duration({
    default: '10s',
    flag: 'node-status-update-frequency',
    doc: 'How often the node status is computed; it is sent when it changed.',
  }),
  nodeStatusReportFrequency: duration({
    default: '5m',
    defaultNote: 'nodeStatusUpdateFrequency, where the same file sets that',
    doc: 'How often an unchanged node status is sent all the same.',
  }),
  nodeLeaseDurationSeconds: int32({
    default: 40,
    min: 1,
    doc: "Seconds for which a renewal of the node's lease holds. It is renewed every quarter of that.",
  }),
  imageMinimumGCAge: duration({
    default: '2m',
    flag: 'minimum-image-ttl-duration',
    effect: noneYet(missing.imageGc),
    doc: 'An unused image younger than this is not removed.',
  }),
  imageMaximumGCAge: duration({
    gate: 'ImageMaximumGCAge',
    effect: noneYet(missing.imageGc),
    doc: 'An image unused for longer than this is removed even when there is room. 0s is off.',
  }),
  imageGCHighThresholdPercent: int32({
    default: 85,
    keepsZero: true,
    flag: 'image-gc-high-threshold',
    min: 0,
    max: 100,
    effect: noneYet(missing.imageGc),
    doc: 'Percent of disk usage from which images are removed. 100 switches this off.',
  }),
  imageGCLowThresholdPercent: int32({
    default: 80,
    keepsZero: true,
    flag: 'image-gc-low-threshold',
    min: 0,
    max: 100,
    effect: noneYet(missing.imageGc),
    doc: 'Percent of disk usage down to which images are removed. Must be below imageGCHighThresholdPercent.',
  }),
  volumeStatsAggPeriod: duration({
    default: '1m',
    flag: 'volume-stats-agg-period',
    doc: 'How often the disk usage of volumes is measured. A negative span switches it off.',
  }),
};
