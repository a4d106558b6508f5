// Flags of older kubelets that unit files may still contain. They are accepted and ignored, with one warning each.
// differs from upstream: there a removed flag is an error.

export interface RemovedFlag {
  readonly name: string;
  readonly instead: string;
  readonly isBoolean: boolean;
}

const cri = 'Network plugins are configured in the container runtime.';
const noDocker = 'Docker support was removed; use --container-runtime-endpoint with a CRI runtime.';
const runtimeHasIt = 'Configure the container runtime instead.';
const dynamic = 'Dynamic configuration was removed; use --config and --config-dir.';
const logs = 'The kubelet logs to stderr; redirect it, or use the journal.';
const none = 'There is no replacement.';
const fixedFile = 'The well-known file is read.';
const runtimeEndpoint = 'Use containerRuntimeEndpoint (--container-runtime-endpoint).';
const storage = 'cAdvisor has no storage drivers here; scrape /metrics/cadvisor or /stats/summary instead.';

type Row = readonly [name: string, instead: string, kind?: 'bool'];

const rows: readonly Row[] = [
  ['add-dir-header', logs, 'bool'],
  ['allow-privileged', 'Use pod security admission.', 'bool'],
  ['alsologtostderr', logs, 'bool'],
  ['api-servers', 'Use --kubeconfig.'],
  [
    'application-metrics-count-limit',
    'Application metrics are not collected; let Prometheus scrape the pods.',
  ],
  ['auth-path', 'Use --kubeconfig.'],
  ['azure-container-registry-config', 'Use a credential provider: --image-credential-provider-config.'],
  ['babysit-daemons', none, 'bool'],
  ['boot-id-file', fixedFile],
  ['bootstrap-checkpoint-path', none],
  ['chaos-chance', none],
  ['cloud-config', 'Configure the cloud controller manager instead.'],
  ['cni-bin-dir', cri],
  ['cni-cache-dir', cri],
  ['cni-conf-dir', cri],
  ['configure-cbr0', cri, 'bool'],
  ['container-hints', none],
  ['container-runtime', 'Only CRI runtimes are supported; use --container-runtime-endpoint.'],
  ['containerd', runtimeEndpoint],
  ['containerd-namespace', runtimeHasIt],
  ['containerized', none, 'bool'],
  ['docker', noDocker],
  ['docker-daemon-container', noDocker],
  ['docker-disable-shared-pid', 'Use shareProcessNamespace in the pod.', 'bool'],
  ['docker-endpoint', noDocker],
  ['docker-env-metadata-whitelist', noDocker],
  ['docker-exec-handler', noDocker],
  ['docker-only', noDocker, 'bool'],
  ['docker-root', noDocker],
  ['docker-tls', noDocker, 'bool'],
  ['docker-tls-ca', noDocker],
  ['docker-tls-cert', noDocker],
  ['docker-tls-key', noDocker],
  ['dynamic-config-dir', dynamic],
  ['enable-cadvisor-json-endpoints', 'Use /stats/summary.', 'bool'],
  ['enable-cri', none, 'bool'],
  ['enable-custom-metrics', none, 'bool'],
  ['enable-load-reader', 'Use the pressure stall information (PSI) in /stats/summary.', 'bool'],
  ['event-storage-age-limit', none],
  ['event-storage-event-limit', none],
  ['experimental-bootstrap-kubeconfig', 'Use --bootstrap-kubeconfig.'],
  ['experimental-check-node-capabilities-before-mount', none, 'bool'],
  ['experimental-cri', none, 'bool'],
  ['experimental-dockershim', noDocker, 'bool'],
  ['experimental-dockershim-root-directory', noDocker],
  ['experimental-fail-swap-on', 'Use failSwapOn.', 'bool'],
  ['experimental-flannel-overlay', cri, 'bool'],
  ['experimental-kernel-memcg-notification', 'Use kernelMemcgNotification.', 'bool'],
  ['experimental-logging-sanitization', none, 'bool'],
  ['experimental-nvidia-gpus', 'Use a device plugin.'],
  ['experimental-qos-reserved', 'Use qosReserved.'],
  ['global-housekeeping-interval', 'Use --housekeeping-interval.'],
  ['google-json-key', 'Use a credential provider: --image-credential-provider-config.'],
  ['host-ipc-sources', 'Use pod security admission.'],
  ['host-network-sources', 'Use pod security admission.'],
  ['host-pid-sources', 'Use pod security admission.'],
  ['image-pull-progress-deadline', runtimeHasIt],
  ['init-config-dir', dynamic],
  ['iptables-drop-bit', none],
  ['iptables-masquerade-bit', none],
  ['keep-terminated-pod-volumes', none, 'bool'],
  ['log-backtrace-at', none],
  ['log-cadvisor-usage', 'Use the process metrics in /metrics.', 'bool'],
  ['log-dir', logs],
  ['log-file', logs],
  ['log-file-max-size', logs],
  ['logtostderr', logs, 'bool'],
  ['low-diskspace-threshold-mb', 'Use evictionHard with nodefs.available.'],
  ['machine-id-file', fixedFile],
  ['master-service-namespace', none],
  ['network-plugin', cri],
  ['network-plugin-dir', cri],
  ['network-plugin-mtu', cri],
  ['non-masquerade-cidr', cri],
  ['nosystemd', none, 'bool'],
  ['one-output', logs, 'bool'],
  ['outofdisk-transition-frequency', 'Use evictionPressureTransitionPeriod.'],
  ['pod-infra-container-image', 'Set the sandbox image in the configuration of the container runtime.'],
  ['really-crash-for-testing', none, 'bool'],
  ['reconcile-cidr', none, 'bool'],
  ['redirect-container-streaming', none, 'bool'],
  ['register-schedulable', 'Use registerWithTaints.', 'bool'],
  ['require-kubeconfig', 'Use --kubeconfig.', 'bool'],
  ['resource-container', 'Use kubeletCgroups.'],
  ['rkt-api-endpoint', 'Only CRI runtimes are supported; use --container-runtime-endpoint.'],
  ['rkt-path', 'Only CRI runtimes are supported; use --container-runtime-endpoint.'],
  ['rkt-stage1-image', 'Only CRI runtimes are supported; use --container-runtime-endpoint.'],
  ['seccomp-profile-root', 'Profiles are in the directory seccomp below --root-dir.'],
  ['skip-headers', logs, 'bool'],
  ['skip-log-headers', logs, 'bool'],
  ['stderrthreshold', logs],
  ['storage-driver-buffer-duration', storage],
  ['storage-driver-db', storage],
  ['storage-driver-host', storage],
  ['storage-driver-password', storage],
  ['storage-driver-secure', storage, 'bool'],
  ['storage-driver-table', storage],
  ['storage-driver-user', storage],
  ['system-container', 'Use systemCgroups.'],
];

export const removedFlags: ReadonlyMap<string, RemovedFlag> = new Map(
  rows.map(([name, instead, kind]) => [name, { name, instead, isBoolean: kind === 'bool' }]),
);
