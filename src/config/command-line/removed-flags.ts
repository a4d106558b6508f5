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

type Row = readonly [name: string, instead: string, kind?: 'bool'];

const rows: readonly Row[] = [
  ['add-dir-header', logs, 'bool'],
  ['allow-privileged', 'Use pod security admission.', 'bool'],
  ['alsologtostderr', logs, 'bool'],
  ['api-servers', 'Use --kubeconfig.'],
  ['azure-container-registry-config', 'Use a credential provider: --image-credential-provider-config.'],
  ['auth-path', 'Use --kubeconfig.'],
  ['babysit-daemons', none, 'bool'],
  ['bootstrap-checkpoint-path', none],
  ['cadvisor-port', 'Use /stats/summary and /metrics/cadvisor of the kubelet.'],
  ['chaos-chance', none],
  ['cloud-config', 'Configure the cloud controller manager instead.'],
  ['cni-bin-dir', cri],
  ['cni-cache-dir', cri],
  ['cni-conf-dir', cri],
  ['configure-cbr0', cri, 'bool'],
  ['container-runtime', 'Only CRI runtimes are supported; use --container-runtime-endpoint.'],
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
  ['experimental-bootstrap-kubeconfig', 'Use --bootstrap-kubeconfig.'],
  ['experimental-check-node-capabilities-before-mount', none, 'bool'],
  ['experimental-cri', none, 'bool'],
  ['experimental-dockershim-root-directory', noDocker],
  ['experimental-dockershim', noDocker, 'bool'],
  ['experimental-fail-swap-on', 'Use failSwapOn.', 'bool'],
  ['experimental-flannel-overlay', cri, 'bool'],
  ['experimental-kernel-memcg-notification', 'Use kernelMemcgNotification.', 'bool'],
  ['experimental-logging-sanitization', none, 'bool'],
  ['experimental-nvidia-gpus', 'Use a device plugin.'],
  ['experimental-qos-reserved', 'Use qosReserved.'],
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
  ['log-dir', logs],
  ['log-file', logs],
  ['log-file-max-size', logs],
  ['logtostderr', logs, 'bool'],
  ['low-diskspace-threshold-mb', 'Use evictionHard with nodefs.available.'],
  ['master-service-namespace', none],
  ['network-plugin', cri],
  ['network-plugin-dir', cri],
  ['network-plugin-mtu', cri],
  ['non-masquerade-cidr', cri],
  ['nosystemd', none, 'bool'],
  ['one-output', logs, 'bool'],
  ['outofdisk-transition-frequency', 'Use evictionPressureTransitionPeriod.'],
  ['reconcile-cidr', none, 'bool'],
  ['redirect-container-streaming', none, 'bool'],
  ['really-crash-for-testing', none, 'bool'],
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
  ['system-container', 'Use systemCgroups.'],
];

export const removedFlags: ReadonlyMap<string, RemovedFlag> = new Map(
  rows.map(([name, instead, kind]) => [name, { name, instead, isBoolean: kind === 'bool' }]),
);
